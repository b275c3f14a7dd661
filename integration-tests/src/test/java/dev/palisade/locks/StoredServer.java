package dev.palisade.locks;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.redis.DefaultSignals;
import dev.palisade.scenario.Child;
import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;

/** A process of the lock server's jar on a directory that may be in a bad way, so that it may not come up. */
final class StoredServer implements AutoCloseable {
    private static final Pattern LISTENING = Pattern.compile("listening on \\S+:(\\d+)");

    private final Process process;
    private final Path out;
    private final Path err;
    private final List<ManagedChannel> channels = new ArrayList<>();

    private StoredServer(Process process, Path out, Path err) {
        this.process = process;
        this.out = out;
        this.err = err;
    }

    static Path jar() {
        return Path.of(System.getProperty("palisade.root"), "lock-server/target/palisade-server.jar")
                .normalize();
    }

    /** Keys and output are kept in {@code home}, the locks in {@code directory}. */
    static StoredServer start(Path home, Path directory, String... options) throws IOException {
        return start(List.of(), jar(), home, directory, options);
    }

    /** @param before a command that runs the rest of its line in its own place */
    static StoredServer start(List<String> before, Path jar, Path home, Path directory, String... options)
            throws IOException {
        List<String> line = new ArrayList<>(before);
        line.addAll(Child.java("-jar", jar.toString(), "server", "--port", "0", "--data-dir", directory.toString()));
        line.addAll(List.of(options));
        Path out = Files.createTempFile(home, "out", ".txt");
        Path err = Files.createTempFile(home, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(DefaultSignals.of(line, "TERM"))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("PALISADE"));
        builder.environment().put("PALISADE_HOME", home.resolve("palisade").toString());
        return new StoredServer(builder.start(), out, err);
    }

    /** Waits until it listens. */
    LocksGrpc.LocksBlockingStub locks() {
        return LocksGrpc.newBlockingStub(channel()).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    ManagedChannel channel() {
        Awaitility.await()
                .atMost(House.PATIENCE)
                .until(() -> LISTENING.matcher(text(out)).find() || !process.isAlive());
        Matcher listening = LISTENING.matcher(text(out));
        if (!listening.find()) {
            throw new AssertionError("does not listen: " + text(out) + text(err));
        }
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", Integer.parseInt(listening.group(1)))
                .usePlaintext()
                .build();
        channels.add(channel);
        return channel;
    }

    static AcquireRequest.Builder acquire(String lock, long request) {
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setTtlMillis(300_000)
                .setRequestId(request)
                .setSessionId(session());
    }

    static ByteString session() {
        return ByteString.copyFrom(
                ByteBuffer.allocate(Long.BYTES * 2).putLong(7).putLong(7).flip());
    }

    long pid() {
        return process.pid();
    }

    /** SIGTERM. */
    void terminate() {
        process.destroy();
    }

    /** SIGKILL, and waits for the end. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    int exitCode() throws InterruptedException {
        if (!process.waitFor(House.PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
            throw new AssertionError("does not end: " + text(out) + text(err));
        }
        return process.exitValue();
    }

    String out() {
        return text(out);
    }

    /** What it complained of: without the events, which are no complaints. */
    List<String> err() {
        return text(err).lines().filter(line -> !line.contains(" event=")).toList();
    }

    private static String text(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        channels.forEach(ManagedChannel::shutdownNow);
        try {
            kill(); // A disk that somebody uses cannot be taken away.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
