package dev.palisade.proxy;

import com.google.gson.JsonObject;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.SteppedMarkStore;
import dev.palisade.guard.VolatileMarkStore;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/**
 * Proxy process with a {@link Guard}, in front of a storage that cannot compare tokens. Every call of {@code
 * palisade.v1.Objects} passes the guard and is forwarded by {@link ProxyService}. Reads {@code hold STEP} and {@code
 * go} from standard input ({@link Breakpoint}). Wiring only.
 */
public final class GuardProxy implements Callable<Integer> {
    /** Whether calls pass the guard. */
    enum GuardMode {
        ENFORCE,
        /** A planted bug: every call is admitted. */
        OFF
    }

    /** Mark store of the guard. */
    enum Kept {
        FILE,
        /** A planted bug: {@link VolatileMarkStore}. */
        VOLATILE
    }

    @Option(names = "--port")
    private int port;

    @Option(names = "--backend", required = true)
    private String backend = "";

    @Option(names = "--unknown-outcome-timeout-millis", required = true)
    private long unknownOutcomeTimeoutMillis;

    /** Without a reply of the storage in this time, the outcome of a call is unknown. */
    @Option(names = "--reply-timeout-millis", required = true)
    private long replyTimeoutMillis;

    /** The deadline of a forwarded call; shorter than the time-out for unknown outcomes. */
    @Option(names = "--backend-deadline-millis", required = true)
    private long backendDeadlineMillis;

    /** Shorter than the callers' deadlines, so that they receive the reason. */
    @Option(names = "--wait-millis", defaultValue = "4000")
    private long waitMillis;

    @Option(names = "--guard", defaultValue = "ENFORCE")
    private GuardMode guardMode = GuardMode.ENFORCE;

    @Option(names = "--marks", defaultValue = "FILE")
    private Kept marks = Kept.FILE;

    private GuardProxy() {}

    public static void main(String[] args) {
        System.exit(new CommandLine(new GuardProxy())
                .setOverwrittenOptionsAllowed(true)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args));
    }

    @Override
    public Integer call() throws IOException {
        Breakpoint breakpoint = new Breakpoint();
        ManagedChannel channel = Grpc.newChannelBuilder(backend, InsecureChannelCredentials.create())
                .build();
        Guard guard = guardMode == GuardMode.OFF ? null : guard(breakpoint);
        JsonObject open = Breakpoint.event("open");
        open.addProperty("guard", guardMode.name().toLowerCase(Locale.ROOT));
        Breakpoint.say(open);
        ProxyService service = new ProxyService(
                guard,
                channel,
                breakpoint,
                Duration.ofMillis(replyTimeoutMillis),
                Duration.ofMillis(backendDeadlineMillis));
        // Threads of its own: a step may be held here, and the event loop must go on.
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .executor(Executors.newCachedThreadPool())
                .intercept(new ProxyService.Headers())
                .addService(service)
                .build()
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, guard)));
        System.out.println("proxy: listening on 127.0.0.1:" + server.getPort());
        obey(breakpoint);
        return 0;
    }

    private Guard guard(Breakpoint breakpoint) throws IOException {
        Path directory = Defaults.home().resolve("marks");
        if (marks == Kept.FILE && Files.notExists(directory)) {
            MarkStore.createNeverUsed(directory);
        }
        MarkStore kept = marks == Kept.FILE ? MarkStore.file(directory) : new VolatileMarkStore();
        MarkStore stepped = new SteppedMarkStore(
                kept, () -> breakpoint.pass(Step.MARK_ASKED), () -> breakpoint.pass(Step.MARK_KEPT));
        KeysetFile keys = KeysetFile.open(Defaults.keyset());
        return Guard.builder(keys.verifier(Defaults.ISSUER), stepped)
                .unknownOutcomeTimeout(Duration.ofMillis(unknownOutcomeTimeoutMillis))
                .maxWait(Duration.ofMillis(waitMillis))
                .build();
    }

    private static void obey(Breakpoint breakpoint) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("go")) {
                breakpoint.go();
            } else {
                breakpoint.hold(Step.valueOf(line.substring("hold ".length())));
                System.out.println("armed");
            }
        }
    }

    /** In order: no new calls, then the end of the running calls, then the marks. */
    private static void stop(Server server, @Nullable Guard guard) {
        server.shutdown();
        try {
            if (!server.awaitTermination(60, TimeUnit.SECONDS)) {
                server.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (guard != null) {
            guard.close();
        }
    }
}
