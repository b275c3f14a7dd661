package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ServerFrame;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** A session's stream, whose frames are waited for one by one. */
final class Frames implements StreamObserver<ServerFrame> {
    /** Completes when the stream has ended. */
    final CompletableFuture<Void> ended = new CompletableFuture<>();

    final StreamObserver<ClientFrame> out;
    private final LinkedBlockingQueue<ServerFrame> come = new LinkedBlockingQueue<>();

    Frames(Channel channel) {
        out = LocksGrpc.newStub(channel).session(this);
    }

    void await(Consumer<ServerFrame> expected) throws InterruptedException {
        ServerFrame next = come.poll(60, TimeUnit.SECONDS);
        assertThat(next).as("a frame").isNotNull();
        expected.accept(next);
    }

    @Override
    public void onNext(ServerFrame frame) {
        come.add(frame);
    }

    @Override
    public void onError(Throwable failure) {
        ended.completeExceptionally(failure);
    }

    @Override
    public void onCompleted() {
        ended.complete(null);
    }
}
