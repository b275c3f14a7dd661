package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.rejection;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Replies that wait to be sent, and listings that wait to be encoded, are bounded over all clients. */
class UnreadRepliesTest {
    private static final int HOLDERS = 50;

    private Served served;

    @TempDir
    Path directory;

    @BeforeEach
    void serve() throws Exception {
        served = serve(Served.UNSENT_BYTES_MAX);
    }

    private Served serve(long unsentBytesMax) throws Exception {
        Served served = new Served(Files.createTempDirectory(directory, "data"), unsentBytesMax);
        Served.Stream holder = served.stream(1, 1);
        for (int i = 1; i <= HOLDERS; i++) {
            holder.granted(acquire("big", i, 0).setMode(Mode.SHARED).setPurpose("p".repeat(256)));
        }
        return served;
    }

    @AfterEach
    void stop() {
        served.close();
    }

    @Test
    void streamsThatDoNotReadAreEndedAndOthersGoOn() {
        Served.Stream reader = served.stream(2, 1);
        List<Served.Stream> deaf = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Served.Stream stream = served.new Stream(10 + i, 1, false);
            deaf.add(stream);
            ClientFrame.Builder frame = ClientFrame.newBuilder();
            for (int call = 1; call <= Served.CALLS_IN_FLIGHT_MAX; call++) {
                frame.addCalls(Call.newBuilder()
                        .setCallId(call)
                        .setDescribe(DescribeRequest.newBuilder().setLock("big")));
            }
            stream.send(frame);
        }
        await().until(() -> served.events.stream().anyMatch(line -> line.contains("unsentBytesMax")));
        await().until(() -> served.rpc.unsentBytes() <= Served.UNSENT_BYTES_MAX);
        reader.granted(acquire("a", 1, 0));
        deaf.forEach(stream -> stream.out.request(1_000));
        Rejection first = rejection(deaf.stream()
                .filter(stream -> stream.ended.isDone())
                .findFirst()
                .orElseGet(() -> deaf.get(0))
                .failure());
        assertThat(first.metadata()).containsEntry("limit", "unsentBytesMax");
        assertThat(reader.ended).isNotDone();
    }

    @Test
    void descriptionsThatAreNotReadAreRefusedAfterTheFirst() throws Exception {
        served.close();
        // Much more than one stream's bound, which would end the stream before the first refusal.
        served = serve(16L << 20);
        Served.Stream deaf = served.new Stream(10, 1, false);
        for (int frames = 0; frames < 4; frames++) {
            ClientFrame.Builder frame = ClientFrame.newBuilder();
            for (int call = 1; call <= Served.CALLS_IN_FLIGHT_MAX; call++) {
                frame.addCalls(Call.newBuilder()
                        .setCallId(call)
                        .setDescribe(DescribeRequest.newBuilder().setLock("big")));
            }
            deaf.send(frame);
        }
        await().until(() -> served.events.stream().anyMatch(line -> line.contains("wait to be sent on this stream")));
        assertThat(served.rpc.unsentBytes()).isLessThan(2 * SessionStream.UNSENT_BYTES_DESCRIBED);
    }

    @Test
    void listingsBeyondTheBoundAreRefusedAndCostNothing() throws Exception {
        Queue<Runnable> encoders = new ConcurrentLinkedQueue<>();
        served.encoders = encoders::add;
        LocksGrpc.LocksFutureStub locks = LocksGrpc.newFutureStub(served.channel);
        ListRequest all = ListRequest.getDefaultInstance();
        List<Future<ListReply>> pages = new ArrayList<>();
        for (int i = 0; i < ListExecutor.LISTINGS_MAX; i++) {
            pages.add(locks.list(all));
        }
        await().until(() -> encoders.size() == ListExecutor.LISTINGS_MAX);
        assertThat(rejection(catchThrowable(() -> served.unary().list(all))).metadata())
                .containsEntry("limit", "listingsMax");
        assertThat(encoders).hasSize(ListExecutor.LISTINGS_MAX);
        encoders.forEach(Runnable::run);
        for (Future<ListReply> page : pages) {
            assertThat(page.get(60, TimeUnit.SECONDS).getLocksCount()).isEqualTo(1);
        }
        served.encoders = Runnable::run;
        assertThat(served.unary().list(all).getLocksCount()).isEqualTo(1);
    }
}
