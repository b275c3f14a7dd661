package dev.palisade.cli.term;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Who asks, for people: nothing is decided by it. */
public final class Person {
    private static final Path KERNEL = Path.of("/proc/sys/kernel/hostname");
    private static final int LENGTH_MAX = 100;

    private Person() {}

    /** {@code user@host pid 123}: tells two runs on one machine apart. */
    public static String here() {
        return userAtHost() + " pid " + ProcessHandle.current().pid();
    }

    /** {@code user@host}. */
    public static String userAtHost() {
        return shortened(System.getProperty("user.name", "?")) + "@" + shortened(host(System.getenv()));
    }

    /** Without asking the network, which may take long to say it. */
    private static String host(Map<String, String> environment) {
        try {
            return Files.readString(KERNEL).strip();
        } catch (IOException e) {
            String name = environment.get("HOSTNAME");
            return name == null || name.isEmpty() ? "localhost" : name;
        }
    }

    private static String shortened(String text) {
        String plain = Plain.text(text);
        return plain.length() <= LENGTH_MAX ? plain : plain.substring(0, LENGTH_MAX);
    }
}
