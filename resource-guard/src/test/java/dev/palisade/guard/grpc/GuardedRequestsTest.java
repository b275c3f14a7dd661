package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.guard.Guard;
import dev.palisade.guard.HeldMarks;
import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * How many messages a guarded call asks its transport for, and how often: each time costs a way to the transport's thread.
 * And what becomes of a client that sends a method more messages than it takes.
 */
class GuardedRequestsTest {
    private final Grants grants = new Grants();
    private final HeldMarks marks = new HeldMarks();
    private final ShopFloor floor = new ShopFloor();
    private final Guard guard =
            Guard.builder(grants.verifier(), marks).executor(Runnable::run).build();
    private final GuardInterceptor interceptor = GuardInterceptor.of(guard, ShopGrpc.getServiceDescriptor());

    @AfterEach
    void close() {
        guard.close();
    }

    @Test
    void aUnaryCallAsksItsTransportOnceAsItDoesWithoutAGuard() {
        HandMadeCall bare = new HandMadeCall(ShopGrpc.getPutMethod());
        handler(bare).startCall(bare, new Metadata());
        HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
        ServerCall.Listener<Item> client = start(call, 33);
        client.onMessage(Served.item("a"));
        client.onHalfClose();
        assertThat(floor.seen).containsExactly("put a");
        assertThat(call.status).isEqualTo(Status.OK);
        assertThat(call.requests).isEqualTo(bare.requests);
    }

    @Test
    void aCallWithOneMessageAndAStreamOfRepliesAsksOnceToo() {
        HandMadeCall call = new HandMadeCall(ShopGrpc.getWatchMethod());
        ServerCall.Listener<Item> client = start(call, 33);
        client.onMessage(Served.item("a"));
        client.onHalfClose();
        assertThat(floor.seen).containsExactly("watch a");
        assertThat(call.requests).containsExactly(2);
    }

    @Test
    void aStreamAsksForItsFirstMessageAndThenForWhatItsHandlerWants() {
        HandMadeCall call = new HandMadeCall(ShopGrpc.getChatMethod());
        ServerCall.Listener<Item> client = start(call, 33);
        assertThat(call.requests).containsExactly(1);
        client.onMessage(Served.item("one"));
        assertThat(call.requests).as("the handler wants one after each").containsExactly(1, 1);
    }

    @Test
    void whatAHandlerWantsBeyondWhatWasAskedForIsAskedFor() {
        HandMadeCall stream = new HandMadeCall(ShopGrpc.getChatMethod());
        start(stream, 33, new Wanting(5)).onMessage(Served.item("one"));
        assertThat(stream.requests).containsExactly(1, 4);
        HandMadeCall unary = new HandMadeCall(ShopGrpc.getPutMethod());
        start(unary, 33, new Wanting(1, 4)).onMessage(Served.item("one"));
        assertThat(unary.requests).containsExactly(2, 3);
    }

    @Test
    void aSecondMessageOfAUnaryCallIsLeftToItsHandlerWhichEndsTheCall() {
        HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
        ServerCall.Listener<Item> client = start(call, 33);
        client.onMessage(Served.item("a"));
        client.onMessage(Served.item("b"));
        client.onHalfClose();
        assertThat(call.status).extracting(Status::getCode).isEqualTo(Status.Code.INTERNAL);
        assertThat(floor.seen).isEmpty();
        next();
        assertThat(floor.seen).containsExactly("put next");
    }

    @Test
    void aSecondMessageOfAUnaryCallThatWaitsIsRefusedAndTheCallWaitsNoLonger() {
        marks.hold();
        HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
        ServerCall.Listener<Item> client = start(call, 33);
        client.onMessage(Served.item("a"));
        assertThat(guard.stats().waiting()).isEqualTo(1);
        client.onMessage(Served.item("b"));
        client.onHalfClose();
        refusedAsMalformed(call);
        assertThat(guard.stats().waiting()).isZero();
        assertThat(guard.stats().refused()).containsEntry(Reason.MALFORMED_REQUEST, 1L);
        marks.sync();
        next();
        assertThat(floor.seen).containsExactly("put next");
    }

    @Test
    void aSecondMessageNeverOvertakesAFirstThatItsHandlerHasNotAskedFor() {
        HandMadeCall call = new HandMadeCall(ShopGrpc.getPutMethod());
        Wanting handler = new Wanting();
        ServerCall.Listener<Item> client = start(call, 33, handler);
        client.onMessage(Served.item("a"));
        client.onMessage(Served.item("b"));
        refusedAsMalformed(call);
        assertThat(handler.seen).containsExactly("cancelled");
    }

    private static void refusedAsMalformed(HandMadeCall call) {
        assertThat(Rejections.ofThrowable(call.status.asRuntimeException(call.trailers))
                        .orElseThrow()
                        .reason())
                .isEqualTo(Reason.MALFORMED_REQUEST);
    }

    /** A newer grant's call, which waits if the one before has not ended. */
    private void next() {
        ServerCall.Listener<Item> client = start(new HandMadeCall(ShopGrpc.getPutMethod()), 34);
        client.onMessage(Served.item("next"));
        client.onHalfClose();
    }

    private ServerCall.Listener<Item> start(HandMadeCall call, long token) {
        return start(call, token, handler(call));
    }

    private ServerCall.Listener<Item> start(HandMadeCall call, long token, ServerCallHandler<Item, Done> handler) {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, grants.exclusive("items/1", token));
        return interceptor.interceptCall(call, headers, handler);
    }

    @SuppressWarnings("unchecked") // All of the shop's methods take an Item and return a Done.
    private ServerCallHandler<Item, Done> handler(HandMadeCall call) {
        MethodDescriptor<Item, Done> method = call.getMethodDescriptor();
        return (ServerCallHandler<Item, Done>)
                floor.bindService().getMethod(method.getFullMethodName()).getServerCallHandler();
    }

    /** Asks for so many messages at a time, all at its start. */
    private static final class Wanting implements ServerCallHandler<Item, Done> {
        final List<String> seen = new ArrayList<>();
        private final int[] requests;

        Wanting(int... requests) {
            this.requests = requests;
        }

        @Override
        public ServerCall.Listener<Item> startCall(ServerCall<Item, Done> call, Metadata headers) {
            for (int messages : requests) {
                call.request(messages);
            }
            return new ServerCall.Listener<>() {
                @Override
                public void onMessage(Item message) {
                    seen.add(message.getText());
                }

                @Override
                public void onCancel() {
                    seen.add("cancelled");
                }
            };
        }
    }
}
