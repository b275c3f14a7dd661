package dev.palisade.scenario;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.palisade.client.Lease;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Objects behind the guard, each named like its lock. Writes to the history what it sends before it sends it, and what it
 * is answered. Never repeats a write.
 */
public final class GuardedObjects {
    private static final long DEADLINE_SECONDS = 5;

    private final ManagedChannel channel;
    private final History history;

    public GuardedObjects(ManagedChannel channel, History history) {
        this.channel = channel;
        this.history = history;
    }

    /** The text under {@code lease}, empty if there is no such object; nothing when that is not answered. */
    public Optional<String> read(Lease lease) {
        JsonObject event = of("read", lease);
        event.addProperty("sent", System.nanoTime());
        try {
            String text = stub(lease)
                    .get(GetObjectRequest.newBuilder()
                            .setKey(lease.lock().value())
                            .build())
                    .getContent()
                    .toStringUtf8();
            event.addProperty("content", text);
            event.addProperty("at", System.nanoTime());
            history.write(event);
            return Optional.of(text);
        } catch (StatusRuntimeException e) {
            event.addProperty("event", "read-failed");
            tell(event, e);
            event.addProperty("at", System.nanoTime());
            history.write(event);
            return Optional.empty();
        }
    }

    /** What an onlooker reads, without a sequencer; empty if there is no such object. */
    String look(String key) {
        return ObjectsGrpc.newBlockingStub(channel)
                .withWaitForReady()
                .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS)
                .get(GetObjectRequest.newBuilder().setKey(key).setUnfenced(true).build())
                .getContent()
                .toStringUtf8();
    }

    /** Writes {@code text} as {@code op}, a name for this write alone; true when it was acknowledged. */
    public boolean write(Lease lease, String op, String text) {
        JsonObject sending = of("sending", lease);
        sending.addProperty("op", op);
        sending.addProperty("content", text);
        history.write(sending);
        JsonObject answer = of("acknowledged", lease);
        answer.addProperty("op", op);
        try {
            var reply = stub(lease)
                    .put(PutObjectRequest.newBuilder()
                            .setKey(lease.lock().value())
                            .setContent(ByteString.copyFromUtf8(text))
                            .build());
            answer.addProperty("version", reply.getVersion());
        } catch (StatusRuntimeException e) {
            answer.addProperty("event", tell(answer, e) ? "refused" : "unknown");
        }
        answer.addProperty("at", System.nanoTime());
        history.write(answer);
        return answer.get("event").getAsString().equals("acknowledged");
    }

    /** Says why; true when it is certain that nothing was applied. */
    private static boolean tell(JsonObject event, StatusRuntimeException failure) {
        Optional<Rejection> rejection = Rejections.ofThrowable(failure);
        if (rejection.isEmpty()) {
            event.addProperty("reason", String.valueOf(failure.getStatus()));
            return false;
        }
        event.addProperty("reason", rejection.get().reason().name());
        event.addProperty("mark", rejection.get().metadata().get(Rejection.MARK_TOKEN));
        return "no".equals(rejection.get().metadata().get(Rejection.APPLIED));
    }

    private JsonObject of(String name, Lease lease) {
        JsonObject event = history.event(name);
        event.addProperty("lock", lease.lock().value());
        event.addProperty("token", lease.token().value());
        event.addProperty("grant", lease.grant().toString());
        return event;
    }

    private ObjectsGrpc.ObjectsBlockingStub stub(Lease lease) {
        channel.resetConnectBackoff();
        return lease.attach(ObjectsGrpc.newBlockingStub(channel))
                .withWaitForReady()
                .withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS);
    }
}
