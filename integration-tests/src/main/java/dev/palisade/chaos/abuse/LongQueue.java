package dev.palisade.chaos.abuse;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ServerFrame;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A lock with a holder and as many waiters as a description lists, with long texts: its description has about 55 kB. */
final class LongQueue {
    private static final int WAITERS = 100;
    private static final long WAIT_MILLIS = 3_600_000;
    private static final long TTL_MILLIS = 300_000;
    private static final int PATIENCE_SECONDS = 10;

    private LongQueue() {}

    /** Returns when all of them wait. They go with {@code channel}. */
    static void at(ManagedChannel channel, String lock, long session) throws InterruptedException {
        CountDownLatch answered = new CountDownLatch(WAITERS + 1);
        StreamObserver<ClientFrame> client = LocksGrpc.newStub(channel).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {
                frame.getRepliesList().forEach(reply -> answered.countDown());
            }

            @Override
            public void onError(Throwable failure) {
                // The run's probe tells whether the server lives.
            }

            @Override
            public void onCompleted() {
                // Asked for by close.
            }
        });
        String text = "x".repeat(250);
        ClientFrame.Builder frame = ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(ByteString.copyFrom(ByteBuffer.allocate(16)
                                .putLong(1)
                                .putLong(session)
                                .array()))
                        .setSessionGen(1)
                        .setOwner(text));
        for (int i = 1; i <= WAITERS + 1; i++) {
            frame.addCalls(Call.newBuilder()
                    .setCallId(i)
                    .setAcquire(AcquireRequest.newBuilder()
                            .setLock(lock)
                            .setMode(Mode.EXCLUSIVE)
                            .setRequestId(i)
                            .setWaitMillis(WAIT_MILLIS)
                            .setTtlMillis(TTL_MILLIS)
                            .setPurpose(text)));
        }
        client.onNext(frame.build());
        if (!answered.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
            throw new IllegalStateException(
                    "the server did not queue " + WAITERS + " waiters within " + PATIENCE_SECONDS + " s");
        }
    }
}
