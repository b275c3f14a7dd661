package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Call.CallCase;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LostEvent;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;

/** A client with hand-moved time before a scripted server, all on the test's thread. */
abstract class Fixture {
    static final String LOCK = "orders/42";
    static final AcquireOptions TRY = AcquireOptions.trying();
    static final AcquireOptions WAIT_MINUTE = AcquireOptions.waiting(Duration.ofMinutes(1));

    final FakeTime time = new FakeTime();
    final ScriptedServer server = new ScriptedServer();
    final PalisadeClient client = client(UnaryOperator.identity());

    @AfterEach
    void closeAll() {
        server.script = server::grantAll;
        client.acquireAsync("end", TRY).cancel(true);
        time.stop();
        server.close();
    }

    PalisadeClient client(UnaryOperator<PalisadeClient.Builder> settings) {
        return settings.apply(PalisadeClient.builder()
                        .servers("scripted:1")
                        .owner("test")
                        .callTimeout(Duration.ofSeconds(5))
                        .channelFactory(server::channel)
                        .time(time.clocks(), time)
                        .callbackExecutor(Runnable::run))
                .build();
    }

    CompletableFuture<AcquireResult> acquire(AcquireOptions options) {
        return client.acquireAsync(LOCK, options);
    }

    Lease held() {
        return leaseOf(acquire(TRY));
    }

    static Lease leaseOf(CompletableFuture<AcquireResult> future) {
        AcquireResult result = future.getNow(new AcquireResult.TimedOut());
        if (result instanceof AcquireResult.Granted granted) {
            return granted.lease();
        }
        throw new AssertionError("not granted: " + future + " " + result);
    }

    Call last(CallCase which) {
        return server.link().last(which);
    }

    int count(CallCase which) {
        return server.link().calls(which).size();
    }

    /** Pushes an offer for the newest acquire, decided right after the newest frame was seen. */
    Granted offerFresh() {
        return offer(server.link().newestSentNanos());
    }

    Granted offer(long seenSentNanos) {
        Granted granted = server.grant(last(CallCase.ACQUIRE).getAcquire());
        server.link().offer(last(CallCase.ACQUIRE).getAcquire().getRequestId(), granted, 2_000, seenSentNanos);
        return granted;
    }

    static LostEvent.Builder lostEvent(Lease lease) {
        return LostEvent.newBuilder()
                .setLock(lease.lock().value())
                .setGrantId(ProtoMapper.bytes(lease.grant()))
                .setReason(dev.palisade.proto.v1.LostReason.LOST_FORCE_RELEASED);
    }
}
