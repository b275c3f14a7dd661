package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.failure;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.Cutter;
import dev.palisade.redis.RedisProcess;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Connections that break, and what is written on them. */
class RedisLinkCutTest {
    private RedisProcess redis = RedisProcess.start();
    private Cutter cutter;
    private RedisLink link;

    @BeforeEach
    void link() throws Exception {
        cutter = new Cutter(redis.port());
        link = Linked.open(cutter.uri());
    }

    @AfterEach
    void close() {
        link.close();
        cutter.close();
        redis.close();
    }

    @Test
    void callsOfOneTurnLeaveWithOneFlush() throws Exception {
        List<Reply> replies = new ArrayList<>();
        redis.freeze(); // So that what follows runs on the loop, which cannot write before it is done.
        CompletableFuture<Void> called = add(link, "first").thenRun(() -> {
            cutter.writes.clear();
            for (int i = 0; i < 200; i++) {
                replies.add(add(link, "k"));
            }
        });
        redis.thaw();
        get(called);
        for (Reply reply : replies) {
            get(reply);
        }

        assertThat(cutter.writes.stream()
                        .filter(write -> write.contains("linktest_add"))
                        .toList())
                .hasSize(1);
        assertThat(cutter.written("linktest_add")).isEqualTo(200);
    }

    @Test
    void aCallWhoseAnswerWasCutOffIsUnknownAndNeverSentAgain() throws Exception {
        cutter.cutAfter = "the-key";
        StoreFailure failure = failure(add(link, "the-key"));

        assertThat(failure.isOutcomeUnknown()).isTrue();
        assertThat(failure.getMessage())
                .matches("Redis 127.0.0.1:\\d+ was asked, and the connection broke: the outcome is unknown");
        await().until(() -> LinkState.of(link).up());
        get(add(link, "another"));
        assertThat(redis.ask("GET", "the-key")).isEqualTo("1");
        assertThat(cutter.written("the-key")).isEqualTo(1);
    }

    @Test
    void allCallsInFlightOfACutConnectionAreUnknownAndEachIsAppliedOnceAtMost() throws Exception {
        cutter.cutAfter = "k-300";
        List<Reply> replies = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            replies.add(add(link, "k-" + i));
        }
        int answered = 0;
        int unknown = 0;
        for (int i = 0; i < 500; i++) {
            try {
                get(replies.get(i));
                answered++;
            } catch (ExecutionException e) {
                unknown += failure(replies.get(i)).isOutcomeUnknown() ? 1 : 0;
            }
        }
        await().until(() -> LinkState.of(link).up());
        get(add(link, "another"));

        assertThat(unknown).isPositive();
        int applied = 0;
        for (int i = 0; i < 500; i++) {
            String count = redis.ask("GET", "k-" + i);
            assertThat(count).isIn("1", "nil");
            applied += count.equals("1") ? 1 : 0;
        }
        assertThat(applied).isBetween(answered, answered + unknown);
    }

    @Test
    void aCallThatWasCutOffOnItsWayIsNotAppliedLater() throws Exception {
        cutter.cutBefore = "the-key";
        StoreFailure failure = failure(add(link, "the-key"));
        assertThat(failure.isOutcomeUnknown())
                .as("the link cannot know that Redis never saw it")
                .isTrue();

        cutter.cutBefore = "\0";
        await().until(() -> LinkState.of(link).up());
        get(add(link, "another"));
        assertThat(redis.ask("GET", "the-key")).isEqualTo("nil");
        assertThat(cutter.written("the-key")).isEqualTo(1);
    }

    @Test
    void whatIsCalledWhileThereIsNoConnectionFailsAtOnceAndIsNeverSent() throws Exception {
        redis.kill9();
        await().until(() -> !LinkState.of(link).up());
        await().untilAsserted(() -> assertThat(failure(add(link, "the-key")))
                .satisfies(failure -> assertThat(failure.isOutcomeUnknown()).isFalse())
                .hasMessageContaining("cannot be reached ("));

        redis.restart();
        await().until(() -> LinkState.of(link).up());
        get(add(link, "another"));
        assertThat(redis.ask("GET", "the-key")).isEqualTo("nil");
        assertThat(cutter.written("the-key")).isZero();
    }

    @Test
    void callsOfManyThreadsAreEachAppliedOnce() throws Exception {
        List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            threads.add(CompletableFuture.runAsync(() -> {
                List<Reply> replies = new ArrayList<>();
                for (int i = 0; i < 2_500; i++) {
                    replies.add(add(link, "k"));
                }
                replies.forEach(Reply::join);
            }));
        }
        for (CompletableFuture<Void> thread : threads) {
            get(thread);
        }
        assertThat(redis.ask("GET", "k")).isEqualTo("10000");
    }

    @Test
    void closingWhileCallsAreInFlightEndsEachOfThemAndLeavesNoThread() throws Exception {
        redis.freeze();
        List<Reply> replies = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            replies.add(add(link, "k"));
        }
        link.close();
        for (Reply reply : replies) {
            assertThat(failure(reply)).isNotNull();
        }
        Linked.awaitNoThread();
    }
}
