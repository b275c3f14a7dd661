package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.server.core.Answer;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.MemoryStore;
import dev.palisade.server.store.StoreFailure;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What people are told of the store. */
class StoreRpcTest {
    @Test
    void theEmbeddedStoreTellsItsDirectoryAndItsEpoch(@TempDir Path directory) throws Exception {
        try (Served served = new Served(directory)) {
            StoreReply told = store(served);
            assertThat(told.getKind()).isEqualTo("embedded");
            assertThat(told.getWhere()).isEqualTo(directory.toString());
            assertThat(told.getUp()).isTrue();
            assertThat(told.getEpoch().getWhy()).isEqualTo("this server started");
            long token = served.stream(1, 1).granted(acquire("a", 1, 0)).getToken();
            DescribeReply lock = describe(served);
            assertThat(lock.getEpoch()).isEqualTo(told.getEpoch());
            assertThat(lock.getEpoch().getBaseToken()).isLessThan(token);
            assertThat(served.unary()
                            .list(ListRequest.getDefaultInstance())
                            .getLocks(0)
                            .hasEpoch())
                    .as("once for a lock, not for each of a page")
                    .isFalse();
        }
    }

    @Test
    void aStoreThatIsRecoveringIsSaidToBe() throws Exception {
        MemoryStore store = new MemoryStore();
        try (Served served = new Served(store)) {
            store.losesAll(10_000);
            store.passes(3_000);
            Epoch epoch = describe(served).getEpoch();
            assertThat(epoch.getRecoveringMillis()).isEqualTo(7_000);
            assertThat(epoch.getBeganAtEpochMillis()).isEqualTo(MemoryStore.START);
            assertThat(epoch.getBaseToken()).isEqualTo(1_000);
            assertThat(epoch.getWhy()).isEqualTo("all was lost");
            store.passes(7_000);
            assertThat(describe(served).getEpoch().getRecoveringMillis()).isZero();
        }
    }

    @Test
    void aStoreThatIsDownIsStillToldOf() throws Exception {
        MemoryStore store = new MemoryStore();
        try (Served served = new Served(store)) {
            store.fails(StoreFailure.unavailable("no primary at 10.0.0.1:6379"));
            assertThat(store(served).getUp()).isFalse();
            assertThat(store(served).getWhy()).isEqualTo("no primary at 10.0.0.1:6379");
        }
    }

    /** Nothing else ends the turn of a store that fails, and the client may send nothing more. */
    @Test
    void aReplyWithoutAnOutcomeIsSentAtOnce() throws Exception {
        CompletableFuture<Answer> late = new CompletableFuture<>();
        MemoryStore memory = new MemoryStore();
        LockStore slow = (LockStore) Proxy.newProxyInstance(
                LockStore.class.getClassLoader(),
                new Class<?>[] {LockStore.class},
                (proxy, method, arguments) ->
                        method.getName().equals("execute") ? late : method.invoke(memory, arguments));
        try (Served served = new Served(slow)) {
            Served.Stream stream = served.stream(1, 1);
            CompletableFuture<Reply> reply = stream.call(Call.newBuilder().setAcquire(acquire("a", 1, 0)));
            stream.keepAlive(1); // Then the frame with the call has been dealt with.
            late.completeExceptionally(StoreFailure.outcomeUnknown("Redis did not reply within 2 s"));
            assertThat(reply.get(10, TimeUnit.SECONDS).getRejected().getReason())
                    .isEqualTo(Reason.OUTCOME_UNKNOWN.name());
        }
    }

    private static StoreReply store(Served served) {
        return served.unary().store(StoreRequest.getDefaultInstance());
    }

    private static DescribeReply describe(Served served) {
        return served.unary().describe(DescribeRequest.newBuilder().setLock("a").build());
    }
}
