package dev.palisade.sessions;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.OfferedEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import io.grpc.Channel;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A session stream by hand: sends the calls it is given, also twice, and keeps what it hears. */
final class RawStream implements StreamObserver<ServerFrame>, AutoCloseable {
    private final List<ServerFrame> frames = new CopyOnWriteArrayList<>();
    private final StreamObserver<ClientFrame> out;

    RawStream(Channel channel, ByteString session, long generation) {
        out = LocksGrpc.newStub(channel).session(this);
        out.onNext(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(session)
                        .setSessionGen(generation)
                        .setOwner("raw"))
                .setSentNanos(1)
                .build());
        Scene.eventually().until(() -> !frames.isEmpty());
    }

    /** The answer to this sending of {@code call}. */
    Reply ask(Call call) {
        long before = replies(call.getCallId()).size();
        out.onNext(ClientFrame.newBuilder().addCalls(call).setSentNanos(1).build());
        return Scene.eventually()
                .until(() -> replies(call.getCallId()), replies -> replies.size() > before)
                .get((int) before);
    }

    OfferedEvent awaitOffer(long requestId) {
        return Scene.eventually()
                .until(
                        () -> frames.stream()
                                .flatMap(frame -> frame.getEventsList().stream())
                                .filter(Event::hasOffered)
                                .map(Event::getOffered)
                                .filter(offer -> offer.getRequestId() == requestId)
                                .toList(),
                        offers -> !offers.isEmpty())
                .get(0);
    }

    private List<Reply> replies(long callId) {
        return frames.stream()
                .flatMap(frame -> frame.getRepliesList().stream())
                .filter(reply -> reply.getCallId() == callId)
                .toList();
    }

    @Override
    public void onNext(ServerFrame frame) {
        frames.add(frame);
    }

    @Override
    public void onError(Throwable broken) {
        // Of interest only to those who wait for an answer, and they run out of patience.
    }

    @Override
    public void onCompleted() {}

    @Override
    public void close() {
        out.onCompleted();
    }
}
