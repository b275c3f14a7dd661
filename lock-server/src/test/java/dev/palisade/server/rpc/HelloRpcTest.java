package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The hello of a client to a server that is about to take over. */
class HelloRpcTest {
    private final MemoryStore store = new MemoryStore();
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        store.standsBy(StoreFailure.notActive("it reads the log", "", true));
        served = new Served(store);
    }

    @AfterEach
    void close() {
        served.close();
    }

    private Served.Stream hello(long patienceMillis) {
        Served.Stream stream = served.new Stream();
        stream.send(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(Served.session(1))
                        .setSessionGen(1)
                        .setPatienceMillis(patienceMillis)));
        return stream;
    }

    private static boolean isWelcomed(Served.Stream stream) {
        return stream.frames.stream().anyMatch(ServerFrame::hasWelcome);
    }

    private static Rejection end(Served.Stream stream) throws Exception {
        return Served.rejection(stream.ended.get(60, TimeUnit.SECONDS));
    }

    @Test
    void itWaitsWithSignsOfLifeAndIsWelcomedAfterTheTakeover() {
        Served.Stream stream = hello(400);
        await().until(() -> stream.frames.size() >= 3);
        assertThat(stream.frames).containsOnly(ServerFrame.getDefaultInstance());
        store.standsBy(null);
        await().until(() -> isWelcomed(stream));
        assertThat(stream.ended).isNotDone();
        assertThat(served.engine.sessions("", 10).sessions()).hasSize(1);
    }

    /** Streams of no session are ended at the second look. */
    @Test
    void itIsNotEndedAsOneThatSaysNoHello() {
        Served.Stream stream = hello(400);
        Served.Stream mute = served.new Stream();
        await().until(() -> !stream.frames.isEmpty());
        for (int i = 0; i < 3; i++) {
            await().until(() -> !served.looks.isEmpty());
            served.looks.remove().run();
        }
        await().until(mute.ended::isDone);
        assertThat(stream.ended).isNotDone();
        store.standsBy(null);
        await().until(() -> isWelcomed(stream));
    }

    @Test
    void aLongHelloIsNotKept() throws Exception {
        Served.Stream stream = served.new Stream();
        stream.send(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(Served.session(1))
                        .setSessionGen(1)
                        .setOwner("x".repeat(SessionStream.WAITING_BYTES_MAX))
                        .setPatienceMillis(400)));
        end(stream);
        assertThat(stream.frames).isEmpty();
    }

    @Test
    void itIsRejectedWhenAnotherServerHasTakenOver() throws Exception {
        Served.Stream stream = hello(4_000);
        await().until(() -> !stream.frames.isEmpty());
        store.standsBy(StoreFailure.notActive("lock server b:1 is active", "b:1", false));
        Rejection rejection = end(stream);
        assertThat(rejection.reason()).isEqualTo(Reason.NOT_ACTIVE);
        assertThat(rejection.metadata()).containsEntry(Rejection.ACTIVE, "b:1");
    }

    /** As older clients are. */
    @Test
    void aClientWithoutPatienceIsRejectedAtOnce() throws Exception {
        assertThat(end(hello(0)).reason()).isEqualTo(Reason.NOT_ACTIVE);
    }

    @Test
    void aStandbyBesideAnActiveServerRejectsAtOnce() throws Exception {
        store.standsBy(StoreFailure.notActive("lock server b:1 is active", "b:1", false));
        Served.Stream stream = hello(60_000);
        assertThat(end(stream).reason()).isEqualTo(Reason.NOT_ACTIVE);
        assertThat(stream.frames).isEmpty();
    }

    @Test
    void aClientThatLeavesMeanwhileHasNoSessionLater() {
        Served.Stream stream = hello(400);
        await().until(() -> !stream.frames.isEmpty());
        stream.breakOff();
        await().until(stream.ended::isDone);
        store.standsBy(null);
        Served.Stream other = served.stream(2, 1);
        await().until(() -> isWelcomed(other));
        assertThat(served.engine.sessions("", 10).sessions())
                .filteredOn(session -> session.id().equals(ProtoCodec.session(Served.session(1))))
                .noneMatch(session -> session.connected());
    }

    @Test
    void aClientThatClosesItsSideMeanwhileIsNotKept() throws Exception {
        Served.Stream stream = hello(400);
        await().until(() -> !stream.frames.isEmpty());
        stream.out.onCompleted();
        store.standsBy(null);
        stream.ended.get(60, TimeUnit.SECONDS);
    }

    private Served.Stream returning(long session, int resumes) {
        Served.Stream stream = served.new Stream();
        stream.send(ClientFrame.newBuilder()
                .setHello(Hello.newBuilder()
                        .setSessionId(Served.session(session))
                        .setSessionGen(1)
                        .setPatienceMillis(400)
                        .setResumes(resumes)));
        await().until(() -> !stream.frames.isEmpty());
        return stream;
    }

    @Test
    void clientsWithLeasesAreWelcomedWhenOthersHaveTheirsOrAreGone() {
        served.runsDelayed = false; // No turn and no wait ends by itself.
        List<Served.Stream> turn =
                List.of(returning(1, 1_024), returning(2, 1_024), returning(3, 1_024), returning(4, 1_024));
        Served.Stream second = returning(5, 1_024);
        Served.Stream third = returning(6, 1_024);
        store.standsBy(null);
        await().until(() -> turn.stream().allMatch(HelloRpcTest::isWelcomed));
        for (int i = 0; i < 4; i++) {
            assertThat(isWelcomed(second)).as("after %d of 1,024", 256 * i).isFalse();
            turn.get(0).ask(ResumeManyRpcTest.resumes(i * 256, 256));
        }
        await().until(() -> isWelcomed(second));
        assertThat(isWelcomed(third)).isFalse();
        turn.get(1).breakOff();
        await().until(() -> isWelcomed(third));
    }

    @Test
    void clientsThatLeaveBeforeTheirTurnHaveNone() {
        served.runsDelayed = false; // No turn and no wait ends by itself.
        for (int i = 1; i <= 4; i++) {
            returning(i, 1_024).breakOff();
        }
        await().until(() -> served.rpc.openStreams() == 0);
        Served.Stream next = returning(5, 1_024);
        store.standsBy(null);
        await().until(() -> isWelcomed(next));
    }
}
