package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.guard.Guard;
import dev.palisade.guard.HeldMarks;
import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerInterceptors;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.UnaryOperator;

/**
 * A guarded service in this process: server, client and guard run on the thread that calls, so when a call has returned,
 * all that follows from it has happened.
 */
final class Served implements AutoCloseable {
    final Grants grants = new Grants();
    final HeldMarks marks = new HeldMarks();
    final ShopFloor floor = new ShopFloor();
    final Guard guard;
    final ManagedChannel channel;
    private final Server server;

    Served() {
        this(UnaryOperator.identity());
    }

    Served(UnaryOperator<Guard.Builder> settings) {
        this(settings, UnaryOperator.identity());
    }

    Served(UnaryOperator<Guard.Builder> settings, UnaryOperator<GuardInterceptor.Builder> bindings) {
        guard = settings.apply(Guard.builder(grants.verifier(), marks)
                        .executor(Runnable::run)
                        .maxWait(Duration.ofMinutes(10))
                        .unknownOutcomeTimeout(Duration.ofMinutes(10)))
                .build();
        GuardInterceptor interceptor = bindings.apply(GuardInterceptor.builder(guard, ShopGrpc.getServiceDescriptor()))
                .build();
        String name = InProcessServerBuilder.generateName();
        try {
            server = InProcessServerBuilder.forName(name)
                    .directExecutor()
                    .addService(ServerInterceptors.intercept(floor, interceptor))
                    .addService(new GuardService(interceptor))
                    .build()
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        channel = InProcessChannelBuilder.forName(name).directExecutor().build();
    }

    /** Calls of the EXCLUSIVE grant {@code token} of the lock of item 1. */
    ShopGrpc.ShopStub as(long token) {
        return as(grants.exclusive("items/1", token));
    }

    ShopGrpc.ShopStub as(SignedSequencer sequencer) {
        return ShopGrpc.newStub(channel).withInterceptors(header(sequencer.toBytes()));
    }

    static ClientInterceptor header(byte[]... values) {
        Metadata headers = new Metadata();
        for (byte[] value : values) {
            headers.put(SequencerHeader.KEY, value);
        }
        return MetadataUtils.newAttachHeadersInterceptor(headers);
    }

    /** A write of the grant {@code token} of item 1. */
    Answer put(long token, String text) {
        Answer answer = new Answer();
        as(token).put(item(text), answer);
        return answer;
    }

    static Item item(String text) {
        return Item.newBuilder().setId("1").setText(text).build();
    }

    static void refused(Answer answer, Reason reason) {
        assertThat(rejection(answer).reason()).isEqualTo(reason);
    }

    static Rejection rejection(Answer answer) {
        assertThat(answer.end).as("the end of the call").isCompletedExceptionally();
        return Rejections.ofThrowable(failure(answer.end)).orElseThrow();
    }

    private static Throwable failure(CompletableFuture<Done> end) {
        try {
            throw new AssertionError("answered with " + end.get());
        } catch (ExecutionException e) {
            return e.getCause() == null ? e : e.getCause();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** One call waits at the guard. */
    void oneWaits() {
        assertThat(guard.stats().waiting()).isEqualTo(1);
    }

    @Override
    public void close() {
        channel.shutdownNow();
        server.shutdownNow();
        guard.close();
    }
}
