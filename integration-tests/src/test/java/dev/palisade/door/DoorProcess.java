package dev.palisade.door;

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
 * The process in front of a storage that cannot compare tokens: every call of {@code palisade.v1.Objects} passes a {@link
 * Guard} here and is forwarded by {@link DoorService}. Reads {@code hold STEP} and {@code go} from standard input ({@link
 * StepGate}). Wiring only.
 */
public final class DoorProcess implements Callable<Integer> {
    /** What becomes of a call. */
    enum Door {
        ENFORCE,
        /** Planted: everything is let in. */
        OFF
    }

    /** Where marks are kept. */
    enum Kept {
        FILE,
        /** Planted: {@link VolatileMarkStore}. */
        VOLATILE
    }

    @Option(names = "--port")
    private int port;

    @Option(names = "--backend", required = true)
    private String backend = "";

    @Option(names = "--unknown-outcome-timeout-millis", required = true)
    private long unknownOutcomeTimeoutMillis;

    /** After this long without the storage's answer a call is lost sight of. */
    @Option(names = "--patience-millis", required = true)
    private long patienceMillis;

    /** After this long the storage is told that nobody waits any more; shorter than the time for unknown ends. */
    @Option(names = "--backend-deadline-millis", required = true)
    private long backendDeadlineMillis;

    /** Shorter than the callers' deadlines, so that they hear why. */
    @Option(names = "--wait-millis", defaultValue = "4000")
    private long waitMillis;

    @Option(names = "--door", defaultValue = "ENFORCE")
    private Door door = Door.ENFORCE;

    @Option(names = "--marks", defaultValue = "FILE")
    private Kept marks = Kept.FILE;

    private DoorProcess() {}

    public static void main(String[] args) {
        System.exit(new CommandLine(new DoorProcess())
                .setOverwrittenOptionsAllowed(true)
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(args));
    }

    @Override
    public Integer call() throws IOException {
        StepGate gate = new StepGate();
        ManagedChannel channel = Grpc.newChannelBuilder(backend, InsecureChannelCredentials.create())
                .build();
        Guard guard = door == Door.OFF ? null : guard(gate);
        JsonObject open = StepGate.event("open");
        open.addProperty("door", door.name().toLowerCase(Locale.ROOT));
        StepGate.say(open);
        DoorService service = new DoorService(
                guard, channel, gate, Duration.ofMillis(patienceMillis), Duration.ofMillis(backendDeadlineMillis));
        // Threads of its own: a step may be held here, and the event loop must go on.
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), port))
                .executor(Executors.newCachedThreadPool())
                .intercept(new DoorService.Headers())
                .addService(service)
                .build()
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server, guard)));
        System.out.println("door: listening on 127.0.0.1:" + server.getPort());
        obey(gate);
        return 0;
    }

    private Guard guard(StepGate gate) throws IOException {
        Path directory = Defaults.home().resolve("marks");
        if (marks == Kept.FILE && Files.notExists(directory)) {
            MarkStore.createNeverUsed(directory);
        }
        MarkStore kept = marks == Kept.FILE ? MarkStore.file(directory) : new VolatileMarkStore();
        MarkStore stepped =
                new SteppedMarkStore(kept, () -> gate.pass(Step.MARK_ASKED), () -> gate.pass(Step.MARK_KEPT));
        KeysetFile keys = KeysetFile.open(Defaults.keyset());
        return Guard.builder(keys.verifier(Defaults.ISSUER), stepped)
                .unknownOutcomeTimeout(Duration.ofMillis(unknownOutcomeTimeoutMillis))
                .maxWait(Duration.ofMillis(waitMillis))
                .build();
    }

    private static void obey(StepGate gate) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("go")) {
                gate.go();
            } else {
                gate.hold(Step.valueOf(line.substring("hold ".length())));
                System.out.println("armed");
            }
        }
    }

    /** In order: nobody new, the running calls end, then the marks. */
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
