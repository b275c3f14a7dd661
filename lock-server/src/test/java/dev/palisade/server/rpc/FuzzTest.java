package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.session;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.MessageLite;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.KeepAlive;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.ResumeManyRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreRequest;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Valid messages with damage, and noise, against a real lock server in this process. Seeds 1 to {@code palisade.fuzz.seeds} (200).
 * Whatever comes, the server lives, every refusal has a reason, and no session stays.
 */
class FuzzTest {
    private static final int SEEDS = Integer.getInteger("palisade.fuzz.seeds", 200);
    private static final int FRAMES = 6;
    private static final int PATIENCE_SECONDS = 10;

    private Served served;
    private Granted held;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
        held = served.unary()
                .acquire(acquire("held", 1, 0)
                        .setTtlMillis(300_000)
                        .setSessionId(session(1))
                        .build())
                .getGranted();
    }

    @AfterEach
    void stop() {
        served.close();
    }

    /** Bytes, as they are. */
    private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
        return MethodDescriptor.newBuilder(new Raw(), new Raw())
                .setType(type)
                .setFullMethodName("palisade.v1.Locks/" + name)
                .build();
    }

    private Map<String, MessageLite> unaryMessages() {
        Map<String, MessageLite> valid = new LinkedHashMap<>();
        AcquireRequest.Builder acquire = acquire("a", 3, 0)
                .setTtlMillis(2_000)
                .setLockDelayMillis(10)
                .setLockAtLeastForMillis(20)
                .setAgeMillis(5)
                .setPurpose("to test")
                .setOwner("fuzzer")
                .setSessionId(session(2));
        valid.put("Acquire", acquire.build());
        valid.put(
                "Accept",
                AcceptRequest.newBuilder()
                        .setLock("held")
                        .setGrantId(held.getGrantId())
                        .setToken(held.getToken())
                        .setSessionId(session(1))
                        .build());
        valid.put(
                "Renew",
                RenewRequest.newBuilder()
                        .setLock("held")
                        .setGrantId(held.getGrantId())
                        .setToken(held.getToken())
                        .setSessionId(session(1))
                        .build());
        valid.put("Release", release(2));
        valid.put(
                "Leave",
                LeaveRequest.newBuilder()
                        .setLock("b")
                        .setRequestId(9)
                        .setSessionId(session(2))
                        .build());
        valid.put("Resume", resume());
        valid.put("Describe", DescribeRequest.newBuilder().setLock("held").build());
        valid.put(
                "List", ListRequest.newBuilder().setPrefix("h").setPageSize(10).build());
        valid.put("History", HistoryRequest.newBuilder().setLock("held").build());
        valid.put("Sessions", SessionsRequest.newBuilder().setPageSize(10).build());
        valid.put("Store", StoreRequest.getDefaultInstance());
        valid.put(
                "RequestRelease",
                RequestReleaseRequest.newBuilder()
                        .setLock("b")
                        .setBy("me")
                        .setWhy("to test")
                        .build());
        valid.put(
                "ForceRelease",
                ForceReleaseRequest.newBuilder()
                        .setLock("b")
                        .setToken(7)
                        .setBy("me")
                        .setWhy("to test")
                        .build());
        valid.put(
                "CheckSequencer",
                CheckSequencerRequest.newBuilder()
                        .setSequencer(held.getSequencer())
                        .build());
        valid.put("Barrier", BarrierRequest.newBuilder().setLock("c").build());
        return valid;
    }

    private ReleaseRequest release(long session) {
        return ReleaseRequest.newBuilder()
                .setLock("held")
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSessionId(session(session))
                .build();
    }

    private ResumeRequest resume() {
        return ResumeRequest.newBuilder()
                .setLock("held")
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSessionId(session(1))
                .setSessionGen(1)
                .setSequencer(held.getSequencer())
                .setRequestId(1)
                .setTtlMillis(300_000)
                .setPurpose("to test")
                .setOwner("fuzzer")
                .build();
    }

    @Test
    void unaryCallIsAnsweredOrRefusedWithAReason() {
        Map<String, MessageLite> valid = unaryMessages();
        int refused = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            Random random = new Random(seed);
            for (Map.Entry<String, MessageLite> call : valid.entrySet()) {
                byte[] bytes = Mutation.of(call.getValue().toByteArray(), random);
                try {
                    ClientCalls.blockingUnaryCall(
                            served.channel,
                            method(call.getKey(), MethodType.UNARY),
                            CallOptions.DEFAULT.withDeadlineAfter(
                                    call.getKey().equals("Acquire") ? 1 : PATIENCE_SECONDS, TimeUnit.SECONDS),
                            bytes);
                } catch (StatusRuntimeException e) {
                    refused++;
                    boolean waited =
                            call.getKey().equals("Acquire") && e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED;
                    assertThat(waited || Rejections.ofThrowable(e).isPresent())
                            .as("seed %d, %s: %s", seed, call.getKey(), e.getStatus())
                            .isTrue();
                }
            }
        }
        assertThat(refused).as("damage was noticed").isGreaterThan(SEEDS);
        assertServes();
    }

    @Test
    void sessionStreamIsAnsweredOrEndedWithAReasonAndLeavesNoSession() {
        for (int seed = 1; seed <= SEEDS; seed++) {
            stream(seed, new Random(seed));
        }
        await().atMost(PATIENCE_SECONDS, TimeUnit.SECONDS)
                .untilAsserted(() -> assertThat(served.engine.sessions("", 100).sessions())
                        .as("sessions left")
                        .isEmpty());
        assertServes();
    }

    private void stream(int seed, Random random) {
        ClientCall<byte[], byte[]> call =
                served.channel.newCall(method("Session", MethodType.BIDI_STREAMING), CallOptions.DEFAULT);
        CompletableFuture<StatusRuntimeException> closed = new CompletableFuture<>();
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(byte[] message) {
                        call.request(1);
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        closed.complete(status.asRuntimeException(trailers));
                    }
                },
                new Metadata());
        call.request(1);
        byte[] hello = ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(session(1_000 + seed))
                        .setSessionGen(1)
                        .setOwner("fuzzer"))
                .build()
                .toByteArray();
        call.sendMessage(random.nextInt(5) == 0 ? Mutation.of(hello, random) : hello);
        for (int frame = 0; frame < FRAMES; frame++) {
            call.sendMessage(Mutation.of(frame(seed, frame), random));
        }
        if (random.nextBoolean()) {
            call.halfClose();
        } else {
            call.cancel("the fuzzer hangs up", null);
        }
        assertThat(closed).as("seed %d ends", seed).succeedsWithin(PATIENCE_SECONDS, TimeUnit.SECONDS);
        StatusRuntimeException end = closed.join();
        Status status = end.getStatus();
        boolean ours = status.isOk() || status.getCode() == Status.Code.CANCELLED;
        assertThat(ours || Rejections.ofThrowable(end).isPresent())
                .as("seed %d: %s", seed, status)
                .isTrue();
    }

    private byte[] frame(int seed, int number) {
        ClientFrame.Builder frame = ClientFrame.newBuilder().setSentNanos(number + 1);
        frame.addCalls(Call.newBuilder().setCallId(1).setAcquire(acquire("fuzz/" + seed, number + 1, 1_000)));
        frame.addCalls(Call.newBuilder()
                .setCallId(2)
                .setDescribe(DescribeRequest.newBuilder().setLock("held")));
        frame.addCalls(
                Call.newBuilder().setCallId(3).setRelease(release(1).toBuilder().clearSessionId()));
        frame.addCalls(
                Call.newBuilder().setCallId(4).setResume(resume().toBuilder().clearSessionId()));
        ResumedGrant grant = ResumedGrant.newBuilder()
                .setLock("held")
                .setGrantId(resume().getGrantId())
                .setToken(resume().getToken())
                .build();
        frame.addCalls(Call.newBuilder()
                .setCallId(5)
                .setResumeMany(ResumeManyRequest.newBuilder().addGrants(grant).addGrants(grant)));
        return frame.setKeepAlive(KeepAlive.newBuilder().setKeepAliveId(number + 1))
                .build()
                .toByteArray();
    }

    private void assertServes() {
        assertThat(served.unary()
                        .acquire(acquire("afterwards", 1, 0)
                                .setSessionId(session(3))
                                .build())
                        .hasGranted())
                .isTrue();
    }
}
