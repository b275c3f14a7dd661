package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumeManyRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.Resume;
import dev.palisade.server.store.MemoryStore;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Limits of {@code resume_many}: one small call names many grants. */
class ResumeManyRpcTest {
    private static final int MAX = SessionStream.RESUME_MANY_MAX;

    private final MemoryStore store = new MemoryStore();
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        served = new Served(store);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    @Test
    void theWelcomeSaysHowManyGrantsACallMayName() {
        Served.Stream stream = served.stream(1, 1);
        stream.granted(acquire("a", 1, 0));
        assertThat(stream.frames.get(0).getWelcome().getResumeManyMax()).isEqualTo(256);
        assertThat(stream.ask(resumes(0, MAX)).getResumeMany().getNotResumedList())
                .hasSize(256);
        assertThat(stream.ask(resumes(0, MAX + 1)).getRejected().getMessage())
                .isEqualTo("the number of grants is 257; use 0 to 256");
    }

    @Test
    void onlyOneCallOfAStreamIsWithTheStore() {
        Served.Stream stream = served.stream(1, 1);
        store.holdsAnswers();
        CompletableFuture<Reply> first = awaited(stream, 1);
        CompletableFuture<Reply> last = awaited(stream, 3);
        stream.send(frame(1, 3));
        await().until(() -> asked(Resume.class) == MAX);
        store.answers(MAX - 1);
        assertThat(asked(Resume.class)).isEqualTo(MAX);
        store.answers(1);
        assertThat(asked(Resume.class)).isEqualTo(2 * MAX);
        assertThat(Served.get(first).getResumeMany().getNotResumedCount()).isEqualTo(MAX);
        store.answers(2 * MAX);
        assertThat(Served.get(last).getResumeMany().getNotResumedCount()).isEqualTo(MAX);
    }

    /** At most 1,000 are in flight here, and the frame that exceeds it is the last. */
    @Test
    void eachGrantIsACallInFlight() {
        Served.Stream stream = served.stream(1, 1);
        store.holdsAnswers();
        stream.send(frame(1, 3));
        CompletableFuture<Reply> sixth = awaited(stream, 6);
        stream.send(frame(4, 3));
        stream.callIds.set(6);
        CompletableFuture<Reply> describe = stream.call(
                Call.newBuilder().setDescribe(DescribeRequest.newBuilder().setLock("a")));
        await().until(() -> asked(Resume.class) == MAX);
        store.answers(2 * MAX);
        assertThat(asked(Resume.class)).isEqualTo(3 * MAX);
        assertThat(asked(Describe.class)).as("four calls have no reply").isZero();
        store.answers(MAX);
        await().until(() -> asked(Describe.class) == 1);
        store.answers(3 * MAX + 1);
        assertThat(Served.get(sixth).hasResumeMany()).isTrue();
        assertThat(Served.get(describe).hasDescribe()).isTrue();
        stream.send(frame(8, 4));
        assertThat(Served.rejection(stream.failure()).message())
                .isEqualTo("a frame has 1024 calls, and a resume_many counts as one for each grant;"
                        + " calls_in_flight_max is 1000");
    }

    private static CompletableFuture<Reply> awaited(Served.Stream stream, long callId) {
        CompletableFuture<Reply> reply = new CompletableFuture<>();
        stream.replies.put(callId, reply);
        return reply;
    }

    private static ClientFrame.Builder frame(int firstCallId, int calls) {
        ClientFrame.Builder frame = ClientFrame.newBuilder();
        for (int id = firstCallId; id < firstCallId + calls; id++) {
            frame.addCalls(resumes(id * MAX, MAX).setCallId(id));
        }
        return frame;
    }

    @Test
    void whatAStreamHasStillToResumeEndsWithIt() {
        Served.Stream stream = served.stream(1, 1);
        store.holdsAnswers();
        stream.send(ClientFrame.newBuilder()
                .addCalls(resumes(0, MAX).setCallId(1))
                .addCalls(resumes(MAX, MAX).setCallId(2)));
        await().until(() -> asked(Resume.class) == MAX);
        stream.breakOff();
        await().until(() -> served.rpc.openStreams() == 0);
        store.answers(MAX);
        assertThat(asked(Resume.class)).isEqualTo(MAX);
    }

    @Test
    void theMessageNamesTheGrantAtFault() {
        Served.Stream stream = served.stream(1, 1);
        Granted held = stream.granted(acquire("a", 1, 0));
        ResumedGrant good = ResumedGrant.newBuilder()
                .setLock(held.getLock())
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .build();
        assertThat(message(stream, good, grant(1).toBuilder().setToken(0).build()))
                .isEqualTo("grants[1]: fencing token 0 is not in 1..9007199254740991");
        assertThat(message(
                        stream, grant(1), good, grant(2).toBuilder().setLock("").build()))
                .isEqualTo("grants[2]: lock name is empty; use 1 to 256 bytes");
        assertThat(message(stream, good, good))
                .matches("grants\\[1]: grant_id [0-9a-f]{32} is named twice; name each grant once");
    }

    private static String message(Served.Stream stream, ResumedGrant... grants) {
        Call.Builder call = Call.newBuilder();
        for (ResumedGrant grant : grants) {
            call.getResumeManyBuilder().addGrants(grant);
        }
        return stream.ask(call).getRejected().getMessage();
    }

    private long asked(Class<?> kind) {
        return store.asked().stream().filter(kind::isInstance).count();
    }

    /** A call that resumes unknown grants. */
    static Call.Builder resumes(int from, int count) {
        ResumeManyRequest.Builder grants = ResumeManyRequest.newBuilder();
        for (int i = from; i < from + count; i++) {
            grants.addGrants(grant(i));
        }
        return Call.newBuilder().setResumeMany(grants);
    }

    private static ResumedGrant grant(long number) {
        return ResumedGrant.newBuilder()
                .setLock("a")
                .setGrantId(ByteString.copyFrom(
                        ByteBuffer.allocate(16).putLong(7).putLong(number << 8).flip()))
                .setToken(1)
                .build();
    }
}
