package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Marks;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** Test fixture of a lock server, a storage behind a proxy, and a caller, for events at the proxy in a given order. */
final class ProxyFixture implements AutoCloseable {
    static final Duration WAIT_MAX = Duration.ofMinutes(2);

    final ProxiedStorage front;
    final Caller caller;
    private final Installation installation = Installation.fresh();
    private final Service server = installation.server();
    private final List<Marks> marks = new ArrayList<>();

    ProxyFixture(String... options) {
        this(installation -> new ProxiedStorage(installation, options));
    }

    ProxyFixture(Function<Installation, ProxiedStorage> front) {
        this.front = front.apply(installation);
        this.caller = new Caller(server, this.front.service());
        version("none"); // The storage's first reply is its slowest: a call under test must not time out for it.
    }

    Path home() {
        return installation.home();
    }

    Installation installation() {
        return installation;
    }

    Lease acquire(String lock) throws InterruptedException {
        return caller.acquire(lock, Mode.EXCLUSIVE);
    }

    Optional<Rejection> send(Verb verb, Lease lease) {
        return send(verb, lease.lock().value(), lease.sequencer());
    }

    Optional<Rejection> send(Verb verb, String key, SignedSequencer sequencer) {
        return caller.send(verb, key, sequencer);
    }

    /** A call that may take long, or never be answered. */
    CompletableFuture<Optional<Rejection>> begin(Verb verb, Lease lease) {
        return CompletableFuture.supplyAsync(() -> send(verb, lease));
    }

    /** The object's version in the storage, read without the proxy; 0: there is none. */
    long version(String key) {
        ManagedChannel channel = Grpc.newChannelBuilder(front.backend().address(), InsecureChannelCredentials.create())
                .build();
        try {
            return ObjectsGrpc.newBlockingStub(channel)
                    .withDeadlineAfter(10, TimeUnit.SECONDS)
                    .get(GetObjectRequest.newBuilder()
                            .setKey(key)
                            .setUnfenced(true)
                            .build())
                    .getVersion();
        } finally {
            channel.shutdownNow();
        }
    }

    /** Kills the proxy and records its marks; {@link #startProxy} is next. */
    void killProxy() throws IOException {
        front.kill();
        marks.add(front.marks("kill " + (marks.size() + 1)));
    }

    void startProxy() {
        front.start();
        caller.reconnect(front.service());
    }

    /** Ends every process. Returns the applied calls, with the marks at each kill and at the end. */
    Run finish() throws IOException, SQLException {
        front.stop();
        marks.add(front.marks("end"));
        List<AppliedCall> applied = Database.readCopy(home().resolve("objects"), Database::applied);
        return new Run(caller.grants(), List.of(), applied, marks, List.of());
    }

    /** Violations by the checkers. These callers write no counters, so P15 does not apply. */
    static List<String> violations(Run run) {
        return run.violations().stream()
                .filter(violation -> !violation.startsWith("P15"))
                .toList();
    }

    static void assertApplied(Optional<Rejection> answer) {
        assertThat(answer).as("refusal").isEmpty();
    }

    @Override
    public void close() {
        caller.close();
        front.close();
        server.child().kill();
        installation.close();
    }
}
