package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.Guard;
import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Streams through {@link GuardInterceptor}: order, flow control, one lock for all messages, stopping a superseded one. */
class GuardedStreamTest {
    private static final Item BROKEN = Served.item("broken");

    private Served shop = new Served();

    @AfterEach
    void close() {
        shop.close();
    }

    @Test
    void aStreamIsNotOpenedBeforeItsFirstMessageHasNamedTheLock() {
        StreamObserver<Item> chat = shop.as(33).chat(new Answer());
        assertThat(shop.floor.seen).isEmpty();
        chat.onNext(Served.item("one"));
        chat.onNext(Served.item("two"));
        chat.onCompleted();
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two", "half-closed");
    }

    @Test
    void whatArrivesWhileTheCallWaitsIsDeliveredAfterwardsInOrder() {
        shop.marks.hold();
        Answer answer = new Answer();
        StreamObserver<Item> upload = shop.as(33).upload(answer);
        upload.onNext(Served.item("one"));
        upload.onNext(Served.item("two"));
        upload.onNext(Served.item("three"));
        upload.onCompleted();
        assertThat(shop.floor.seen).isEmpty();
        shop.marks.sync();
        assertThat(shop.floor.seen).containsExactly("upload", "one", "two", "three", "half-closed");
        assertThat(answer.end).isCompleted();
    }

    @Test
    void aHalfCloseThatArrivesWhileAUnaryCallWaitsIsNotLost() {
        shop.marks.hold();
        Answer answer = new Answer();
        shop.as(33).watch(Served.item("a"), answer);
        shop.marks.sync();
        assertThat(shop.floor.seen).containsExactly("watch a");
        assertThat(answer.end).isCompleted();
        assertThat(answer.replies).hasValue(2);
    }

    @Test
    void aHandlerThatAsksForNoMessageGetsNone() {
        shop.floor.asksForNothing = true;
        StreamObserver<Item> chat = shop.as(33).chat(new Answer());
        chat.onNext(Served.item("one"));
        chat.onNext(Served.item("two"));
        chat.onNext(Served.item("three"));
        chat.onNext(Served.item("four"));
        chat.onCompleted();
        assertThat(shop.floor.seen).containsExactly("chat");
        ServerCallStreamObserver<Done> handler = (ServerCallStreamObserver<Done>) shop.floor.open.element();
        handler.request(2);
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two");
        handler.request(1);
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two", "three");
        handler.request(5);
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two", "three", "four", "half-closed");
    }

    /** gRPC closes such a call by itself, and does not call it cancelled. */
    @Test
    void brokenMessageEndsAWaitingCallBeforeItsHandlerStarts() {
        shop.marks.hold();
        ClientCall<Item, Done> put = withBrokenMessages(ShopGrpc.getPutMethod());
        put.sendMessage(Served.item("one"));
        put.sendMessage(BROKEN);
        shop.marks.sync();
        assertThat(shop.floor.seen).isEmpty();
        assertThat(shop.guard.stats().waiting()).isZero();
    }

    @Test
    void brokenMessageCancelsTheHandlerAndNewerGrantsWaitForItsEnd() {
        ClientCall<Item, Done> chat = withBrokenMessages(ShopGrpc.getChatMethod());
        chat.sendMessage(Served.item("one"));
        chat.sendMessage(BROKEN);
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
        shop.put(34, "b");
        shop.oneWaits();
        shop.floor.open.remove().onError(Status.CANCELLED.asRuntimeException());
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled", "put b");
    }

    /** A call of grant 33, which sends {@link #BROKEN} as what is no protobuf. */
    private ClientCall<Item, Done> withBrokenMessages(MethodDescriptor<Item, Done> method) {
        MethodDescriptor.Marshaller<Item> items = method.getRequestMarshaller();
        MethodDescriptor<Item, Done> broken = method.toBuilder(
                        new MethodDescriptor.Marshaller<Item>() {
                            @Override
                            public InputStream stream(Item item) {
                                return item.equals(BROKEN)
                                        ? new ByteArrayInputStream(new byte[] {-1, -1, -1})
                                        : items.stream(item);
                            }

                            @Override
                            public Item parse(InputStream bytes) {
                                return items.parse(bytes);
                            }
                        },
                        method.getResponseMarshaller())
                .build();
        ClientCall<Item, Done> call = shop.as(33).getChannel().newCall(broken, CallOptions.DEFAULT);
        call.start(new ClientCall.Listener<>() {}, new Metadata());
        call.request(10);
        return call;
    }

    @Test
    void aStreamWithoutAMessageIsMalformed() {
        Answer answer = new Answer();
        shop.as(33).upload(answer).onCompleted();
        Served.refused(answer, Reason.MALFORMED_REQUEST);
        assertThat(shop.floor.seen).isEmpty();
    }

    @Test
    void aLaterMessageOfAnotherLockEndsTheStreamAndItsHandlerIsAwaited() {
        Answer answer = new Answer();
        StreamObserver<Item> chat = shop.as(33).chat(answer);
        chat.onNext(Served.item("one"));
        chat.onNext(Item.newBuilder().setId("2").setText("two").build());
        chat.onNext(Served.item("three"));
        Rejection rejection = Served.rejection(answer);
        assertThat(rejection.reason()).isEqualTo(Reason.WRONG_RESOURCE);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
        shop.put(34, "b");
        shop.oneWaits();
        shop.floor.open.remove().onError(Status.CANCELLED.asRuntimeException());
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled", "put b");
    }

    @Test
    void replacedGuardCancelsItsStreamsWithTheReason() {
        Answer answer = new Answer();
        StreamObserver<Item> chat = shop.as(33).chat(answer);
        chat.onNext(Served.item("one"));
        shop.marks.takeOver();
        Served.refused(shop.put(33, "b"), Reason.MARK_UNAVAILABLE);
        Rejection why = Served.rejection(answer);
        assertThat(why.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(why.message()).contains("these marks were taken over", "items/1", "may have been applied");
        assertThat(why.metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
    }

    @Test
    void aNewerGrantStopsAnOlderStreamAndWaitsForItsHandler() {
        Answer answer = new Answer();
        StreamObserver<Item> chat = shop.as(33).chat(answer);
        chat.onNext(Served.item("one"));
        shop.put(34, "b");
        Rejection rejection = Served.rejection(answer);
        assertThat(rejection.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.APPLIED, "unknown")
                .containsEntry(Rejection.PRESENTED_TOKEN, "33");
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
        shop.oneWaits();
        ServerCallStreamObserver<Done> handler = (ServerCallStreamObserver<Done>) shop.floor.open.remove();
        assertThat(handler.isCancelled()).isTrue();
        handler.onCompleted();
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled", "put b");
    }

    @Test
    void aHandlerThatIsBusyIsAskedToStopAtOnceAndToldWhenItReturns() {
        Answer answer = new Answer();
        shop.floor.work = item -> {
            shop.floor.work = nothing -> {};
            // Another client: in the handler's context the call would be cancelled with it.
            Context.ROOT.run(() -> shop.put(34, "b"));
            Served.refused(answer, Reason.TOKEN_STALE);
            assertThat(Context.current().isCancelled()).isTrue();
            assertThat(shop.floor.seen).containsExactly("chat");
        };
        shop.as(33).chat(answer).onNext(Served.item("one"));
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
        shop.oneWaits();
    }

    @Test
    void aServerStreamIsStoppedToo() {
        shop.floor.answersAtOnce = false;
        Answer answer = new Answer();
        shop.as(33).watch(Served.item("a"), answer);
        shop.put(34, "b");
        Served.refused(answer, Reason.TOKEN_STALE);
        assertThat(shop.floor.seen).containsExactly("watch a", "cancelled");
        assertThat(answer.replies).hasValue(1);
        ShopFloor.end(shop.floor.open.remove());
        assertThat(answer.replies).as("replies after the stream was stopped").hasValue(1);
        assertThat(shop.floor.seen).containsExactly("watch a", "cancelled", "put b");
    }

    @Test
    void aHandlerThatClosedItsStreamIsGivenNoMoreMessages() {
        shop.floor.asksForNothing = true;
        StreamObserver<Item> chat = shop.as(33).chat(new Answer());
        chat.onNext(Served.item("one"));
        chat.onNext(Served.item("two"));
        chat.onNext(Served.item("three"));
        ServerCallStreamObserver<Done> handler = (ServerCallStreamObserver<Done>) shop.floor.open.remove();
        handler.request(1);
        shop.floor.work = item -> handler.onCompleted();
        handler.request(2); // The third is on its way already when the second is answered.
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two");
        shop.floor.work = item -> {};
        assertThat(shop.put(34, "b").end).isCompleted();
    }

    @Test
    void aClientThatGoesAwayCancelsTheHandlerWhichStaysAwaited() {
        Answer answer = new Answer();
        StreamObserver<Item> chat = shop.as(33).chat(answer);
        chat.onNext(Served.item("one"));
        answer.cancel();
        assertThat(shop.floor.seen).containsExactly("chat", "one", "cancelled");
        shop.put(34, "b");
        shop.oneWaits();
        shop.floor.open.remove().onError(Status.CANCELLED.asRuntimeException());
        assertThat(shop.floor.seen).contains("put b");
    }

    @Test
    void aGuardThatOnlyObservesOpensAStreamBeforeItsFirstMessageAndCountsStrangers() {
        shop.close();
        shop = new Served(Guard.Builder::observeOnly);
        Answer answer = new Answer();
        StreamObserver<Item> chat = shop.as(33).chat(answer);
        assertThat(shop.floor.seen).containsExactly("chat");
        chat.onNext(Served.item("one"));
        chat.onNext(Item.newBuilder().setId("2").setText("two").build());
        chat.onCompleted();
        assertThat(answer.end).isCompleted();
        assertThat(shop.floor.seen).containsExactly("chat", "one", "two", "half-closed");
        assertThat(shop.guard.stats().wouldRefuse()).containsEntry(Reason.WRONG_RESOURCE, 1L);
    }
}
