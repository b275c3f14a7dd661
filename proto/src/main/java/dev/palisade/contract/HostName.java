package dev.palisade.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * The name of the machine or container that this process runs on, for people: nothing is decided by it. Safe for use by many
 * threads.
 */
public final class HostName {
    private static final List<Path> FILES = List.of(Path.of("/proc/sys/kernel/hostname"), Path.of("/etc/hostname"));
    private static final int LENGTH_MAX = 100;
    /** A resolver without an answer takes several seconds, on macOS often. */
    private static final long LOOKUP_MILLIS_MAX = 500;

    private static final class Once {
        static final String NAME = of(System.getenv(), FILES, HostName::resolved);
    }

    private HostName() {}

    /**
     * The variable {@code HOSTNAME}, else what the system's files say, else what the resolver says within 500 ms, else {@code
     * localhost}. At most 100 characters, each a letter or digit of ASCII or one of {@code . _ -}.
     */
    public static String here() {
        return Once.NAME;
    }

    /** {@code host pid 123}: what a process is called that has no other name. */
    public static String withPid() {
        return here() + " pid " + ProcessHandle.current().pid();
    }

    static String of(Map<String, String> environment, List<Path> files, Supplier<String> otherwise) {
        return Optional.ofNullable(environment.get("HOSTNAME"))
                .map(HostName::plain)
                .filter(name -> !name.isEmpty())
                .or(() -> files.stream()
                        .map(HostName::firstLine)
                        .filter(name -> !name.isEmpty())
                        .findFirst())
                .orElseGet(() -> plain(otherwise.get()));
    }

    private static String firstLine(Path file) {
        try {
            return plain(Files.readString(file).lines().findFirst().orElse(""));
        } catch (IOException e) {
            return "";
        }
    }

    private static String plain(String text) {
        String name = text.strip().replaceAll("[^A-Za-z0-9._-]", "?");
        return name.length() <= LENGTH_MAX ? name : name.substring(0, LENGTH_MAX);
    }

    private static String resolved() {
        CompletableFuture<String> name = new CompletableFuture<>();
        Thread resolver = new Thread(
                () -> {
                    try {
                        name.complete(InetAddress.getLocalHost().getHostName());
                    } catch (UnknownHostException e) {
                        name.complete("localhost");
                    }
                },
                "palisade-host-name");
        resolver.setDaemon(true);
        resolver.start();
        try {
            return name.get(LOOKUP_MILLIS_MAX, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            return "localhost";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "localhost";
        }
    }
}
