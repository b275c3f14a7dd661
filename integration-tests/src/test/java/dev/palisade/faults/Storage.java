package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.check.Granted;
import dev.palisade.check.Run;
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
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A lock server and an object storage, with a caller that may send any sequencer it likes and notes every grant. */
final class Storage implements AutoCloseable {
    private final Installation installation = Installation.fresh();
    private final Service server = installation.server();
    private final PalisadeClient client = PalisadeClient.connect(server.address());
    private final List<Granted> grants = new ArrayList<>();
    private Service objects;
    private ManagedChannel channel;

    Storage(String... options) {
        objects = installation.objects(options);
        channel = connect();
    }

    private ManagedChannel connect() {
        return Grpc.newChannelBuilder(objects.address(), InsecureChannelCredentials.create())
                .build();
    }

    Path home() {
        return installation.home();
    }

    Path dataDir() {
        return home().resolve("objects");
    }

    Lease acquire(String lock, Mode mode) {
        long asked = System.nanoTime();
        AcquireResult result =
                client.tryAcquire(lock, AcquireOptions.defaults().mode(mode).wait(Duration.ofSeconds(10)));
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

    /** Stops the storage by kill -9 and starts it again. */
    void restart(Tampering between, String... options) throws Exception {
        objects.child().kill();
        between.run();
        channel.shutdownNow();
        objects = installation.objects(options);
        channel = connect();
    }

    interface Tampering {
        void run() throws Exception;
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
        try {
            switch (verb) {
                case PUT -> {
                    var unused = stub(sequencer)
                            .put(PutObjectRequest.newBuilder()
                                    .setKey(key)
                                    .setContent(ByteString.copyFromUtf8("1 forged"))
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
                case CLAIM -> mark(key, sequencer);
            }
            return Optional.empty();
        } catch (StatusRuntimeException e) {
            return Optional.of(Rejections.ofThrowable(e).orElseThrow(() -> e));
        }
    }

    /** The mark that a claim leaves. */
    Mark mark(String key, @Nullable SignedSequencer sequencer) {
        return stub(sequencer)
                .claim(ClaimObjectRequest.newBuilder().setKey(key).build())
                .getMark();
    }

    private ObjectsGrpc.ObjectsBlockingStub stub(@Nullable SignedSequencer sequencer) {
        Metadata headers = new Metadata();
        if (sequencer != null) {
            SequencerHeader.put(headers, sequencer);
        }
        return ObjectsGrpc.newBlockingStub(channel)
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                .withWaitForReady()
                .withDeadlineAfter(10, TimeUnit.SECONDS);
    }

    /** Stops the storage; what it has, as a run without increments. */
    Run stop(List<dev.palisade.check.Marks> earlier) throws IOException, SQLException {
        objects.child().terminate();
        return Database.readCopy(dataDir(), connection -> {
            List<dev.palisade.check.Marks> marks = new ArrayList<>(earlier);
            marks.add(Database.marks(connection, "end"));
            return new Run(grants, List.of(), Database.applied(connection), marks, List.of());
        });
    }

    @Override
    public void close() {
        channel.shutdownNow();
        client.close();
        objects.child().kill();
        server.child().kill();
        installation.close();
    }
}
