package dev.palisade.faults;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import dev.palisade.scenario.History;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Attacker that sends writes with the highest token: under a sequencer with its own signature, under one for another
 * lock, or under random bytes.
 */
final class Forger {
    private static final String ISSUER = "palisade";
    private static final long PERIOD_MILLIS = 1_500;

    private final SequencerKeys attacker = SequencerKeys.generate();
    private final SequencerKeys real;
    private final ManagedChannel objects;
    private final History history;
    private final Locks locks;
    private final Random random;

    /** @param real keys of the lock server, for genuine sequencers of another lock */
    Forger(SequencerKeys real, ManagedChannel objects, History history, Locks locks, Random random) {
        this.real = real;
        this.objects = objects;
        this.history = history;
        this.locks = locks;
        this.random = random;
    }

    void work(StopLatch stopLatch) {
        while (!stopLatch.await(PERIOD_MILLIS)) {
            forge();
        }
    }

    private void forge() {
        String lock = locks.any(random);
        String how = List.of("self-signed", "misdirected", "random").get(random.nextInt(3));
        byte[] sequencer = switch (how) {
            case "self-signed" -> attacker.sign(highest(lock)).toBytes();
            case "misdirected" -> real.sign(highest("stray/" + lock)).toBytes();
            default -> randomBytes();
        };
        JsonObject event = history.event("forged");
        event.addProperty("lock", lock);
        event.addProperty("how", how);
        event.addProperty("token", FencingToken.MAX);
        event.addProperty("outcome", send(lock, sequencer));
        history.write(event);
    }

    private String send(String lock, byte[] sequencer) {
        Metadata headers = new Metadata();
        headers.put(SequencerHeader.KEY, sequencer);
        try {
            var unused = ObjectsGrpc.newBlockingStub(objects)
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                    .withDeadlineAfter(1, TimeUnit.SECONDS)
                    .put(PutObjectRequest.newBuilder()
                            .setKey(lock)
                            .setContent(ByteString.copyFromUtf8("1 forged"))
                            .build());
            return "admitted";
        } catch (StatusRuntimeException e) {
            return Rejections.ofThrowable(e)
                    .map(rejection -> rejection.reason().name())
                    .orElse("unknown");
        }
    }

    private byte[] randomBytes() {
        byte[] bytes = new byte[1 + random.nextInt(200)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static Sequencer highest(String lock) {
        return new Sequencer(
                ISSUER,
                new LockName(lock),
                Mode.EXCLUSIVE,
                new FencingToken(FencingToken.MAX),
                new GrantId(1, 2),
                System.currentTimeMillis());
    }
}
