package dev.palisade.guard.grpc;

import dev.palisade.guard.grpc.shop.Done;
import dev.palisade.guard.grpc.shop.Item;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import io.grpc.Context;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The handlers behind the guard: notes what reaches them, and ends calls when the test says so. */
final class ShopFloor extends ShopGrpc.ShopImplBase {
    /** What reached the handlers, in order. */
    final List<String> seen = new CopyOnWriteArrayList<>();
    /** Answers of calls that the test ends. */
    final Deque<StreamObserver<Done>> open = new ConcurrentLinkedDeque<>();

    /** Run by every handler that is given a message. */
    Consumer<Item> work = item -> {};

    /** Run by a put when its call may be closed already. */
    Consumer<Item> afterwards = item -> {};

    boolean answersAtOnce = true;
    boolean asksForNothing;

    @Nullable
    Context context;

    @Override
    public void put(Item item, StreamObserver<Done> answer) {
        work.accept(item);
        take("put " + item.getText(), answer);
        afterwards.accept(item);
    }

    @Override
    public void get(Item item, StreamObserver<Done> answer) {
        take("get " + item.getText(), answer);
    }

    @Override
    public void watch(Item item, StreamObserver<Done> answer) {
        ((ServerCallStreamObserver<Done>) answer).setOnCancelHandler(() -> seen.add("cancelled"));
        answer.onNext(Done.getDefaultInstance());
        take("watch " + item.getText(), answer);
    }

    @Override
    public StreamObserver<Item> upload(StreamObserver<Done> answer) {
        return conversation("upload", answer);
    }

    @Override
    public StreamObserver<Item> chat(StreamObserver<Done> answer) {
        return conversation("chat", answer);
    }

    private void take(String what, StreamObserver<Done> answer) {
        context = Context.current();
        seen.add(what);
        if (answersAtOnce) {
            end(answer);
        } else {
            open.add(answer);
        }
    }

    static void end(StreamObserver<Done> answer) {
        answer.onNext(Done.getDefaultInstance());
        answer.onCompleted();
    }

    private StreamObserver<Item> conversation(String name, StreamObserver<Done> answer) {
        seen.add(name);
        open.add(answer);
        if (asksForNothing) {
            ((ServerCallStreamObserver<Done>) answer).disableAutoRequest();
        }
        return new StreamObserver<>() {
            @Override
            public void onNext(Item item) {
                work.accept(item);
                seen.add(item.getText());
            }

            @Override
            public void onError(Throwable failure) {
                seen.add("cancelled");
            }

            @Override
            public void onCompleted() {
                seen.add("half-closed");
                if (answersAtOnce) {
                    end(answer);
                }
            }
        };
    }
}
