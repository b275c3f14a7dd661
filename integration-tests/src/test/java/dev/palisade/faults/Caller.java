package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.check.Granted;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.ClaimObjectRequest;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.Mark;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A client of the lock server and of what stands before the objects, that may send any sequencer it likes and notes every grant. */
final class Caller implements AutoCloseable {
    /** How much a PUT writes at least: enough to see it pass by. */
    static final int CONTENT_BYTES = 2_000;

    private static final ByteString CONTENT = ByteString.copyFromUtf8("1 forged" + " ".repeat(CONTENT_BYTES));

    private final PalisadeClient client;
    private final List<Granted> grants = new ArrayList<>();
    private ManagedChannel channel;

    Caller(Service server, Service objects) {
        client = PalisadeClient.connect(server.address());
        channel = connect(objects);
    }

    private static ManagedChannel connect(Service objects) {
        return Grpc.newChannelBuilder(objects.address(), InsecureChannelCredentials.create())
                .build();
    }

    /** Calls {@code objects} from now on; what is under way to the one before breaks. */
    void reconnect(Service objects) {
        channel.shutdownNow();
        channel = connect(objects);
    }

    /** What was granted so far. */
    List<Granted> grants() {
        return List.copyOf(grants);
    }

    Lease acquire(String lock, Mode mode) throws InterruptedException {
        long asked = System.nanoTime();
        AcquireResult result = client.tryAcquire(
                lock, AcquireOptions.waiting(Duration.ofSeconds(10)).mode(mode));
        assertThat(result).isInstanceOf(AcquireResult.Granted.class);
        Lease lease = ((AcquireResult.Granted) result).lease();
        grants.add(new Granted(
                "caller",
                lock,
                mode == Mode.SHARED,
                lease.token().value(),
                lease.grant().toString(),
                asked,
                System.nanoTime()));
        return lease;
    }

    /** The four calls that carry a sequencer. */
    enum Verb {
        PUT,
        GET,
        DELETE,
        CLAIM
    }

    /** Sends one call; empty when it was admitted, otherwise how it was refused. */
    Optional<Rejection> send(Verb verb, String key, @Nullable SignedSequencer sequencer) {
        return send(verb, key, sequencer == null ? null : sequencer.toBytes());
    }

    /** The same with any bytes in the sequencer's place. */
    Optional<Rejection> send(Verb verb, String key, byte @Nullable [] sequencer) {
        try {
            switch (verb) {
                case PUT -> {
                    var unused = stub(sequencer)
                            .put(PutObjectRequest.newBuilder()
                                    .setKey(key)
                                    .setContent(CONTENT)
                                    .build());
                }
                case GET -> {
                    var unused = stub(sequencer)
                            .get(GetObjectRequest.newBuilder().setKey(key).build());
                }
                case DELETE -> {
                    var unused = stub(sequencer)
                            .delete(DeleteObjectRequest.newBuilder().setKey(key).build());
                }
                case CLAIM -> {
                    var unused = mark(key, sequencer);
                }
            }
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            return Optional.of(Rejections.ofThrowable(e).orElseThrow(() -> e));
        }
    }

    /** The mark that a claim leaves. */
    Mark mark(String key, @Nullable SignedSequencer sequencer) {
        return mark(key, sequencer == null ? null : sequencer.toBytes());
    }

    private Mark mark(String key, byte @Nullable [] sequencer) {
        return stub(sequencer)
                .claim(ClaimObjectRequest.newBuilder().setKey(key).build())
                .getMark();
    }

    private ObjectsGrpc.ObjectsBlockingStub stub(byte @Nullable [] sequencer) {
        Metadata headers = new Metadata();
        if (sequencer != null) {
            headers.put(SequencerHeader.KEY, sequencer);
        }
        return ObjectsGrpc.newBlockingStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .withWaitForReady()
                .withDeadlineAfter(10, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        channel.shutdownNow();
        client.close();
    }
}
