package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.OneOfSeveral.LOCK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.TestRedis;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.store.StoreUnusable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Several lock servers on one Redis, and a Redis that loses things. */
@Tag("redis-smoke")
class RedisStoreTest {
    private final String prefix = TestRedis.get().newPrefix();

    private OneOfSeveral server() throws Exception {
        return new OneOfSeveral(TestRedis.get().uri(), prefix, 0, true);
    }

    private static OneOfSeveral server(RedisProcess redis, long graceMillis, boolean init) throws Exception {
        return new OneOfSeveral(redis.uri(), "p", graceMillis, init);
    }

    // ---- several servers

    @Test
    void whatOneServerGrantedEveryOtherKnows() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            Grant held = a.granted(1, 1);
            assertThat(b.acquire(2, 1, 0)).isInstanceOf(Answer.Busy.class);
            assertThat(b.renew(held)).isInstanceOf(Answer.Renewed.class);
            assertThat(b.release(held)).isEqualTo(new Answer.Released());
            assertThat(b.granted(2, 2).token()).isGreaterThan(held.token());
        }
    }

    @Test
    void aWaiterIsToldOfAnOfferThatAnotherServerMade() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            Grant held = a.granted(1, 1);
            long asked = System.currentTimeMillis();
            assertThat(b.acquire(2, 1, 60_000)).isEqualTo(new Answer.Queued(1));
            a.release(held);
            await().until(() -> !b.offered.isEmpty());
            OneOfSeveral.Offered offer = b.offered.remove();
            assertThat(offer.promised().request().owner()).isEqualTo("owner 2");
            assertThat(offer.decidedAtMillis())
                    .as("no later than it was made")
                    .isBetween(asked - 1, System.currentTimeMillis());
            assertThat(offer.promised().expiresAtMillis() - offer.decidedAtMillis())
                    .as("lasts no longer than an offer does, from when it can have been made")
                    .isLessThanOrEqualTo(2_000 + System.currentTimeMillis() - asked);
            assertThat(b.accept(offer.promised())).isInstanceOf(Answer.Granted.class);
            assertThat(a.offered).as("is not a's waiter").isEmpty();
        }
    }

    @Test
    void aWaiterFindsItsOfferWhenNothingIsPublished() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            assertThat(redis.ask("ACL", "SETUSER", "deaf", "on", "nopass", "~*", "&*", "+@all", "-subscribe"))
                    .isEqualTo("OK");
            Grant held = a.granted(1, 1);
            try (OneOfSeveral deaf =
                    new OneOfSeveral(redis.uri().replace("redis://", "redis://deaf:x@"), "p", 0, false)) {
                assertThat(deaf.acquire(2, 1, 60_000)).isInstanceOf(Answer.Queued.class);
                a.release(held);
                await().atMost(Duration.ofSeconds(2)).until(() -> !deaf.offered.isEmpty());
                assertThat(deaf.accept(deaf.offered.remove().promised())).isInstanceOf(Answer.Granted.class);
            }
        }
    }

    @Test
    void aWaiterOfAKilledServerKeepsItsPlaceAndIsServedByAnother() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral c = server()) {
            Grant held = a.granted(1, 1);
            OneOfSeveral b = server();
            assertThat(b.acquire(2, 1, 60_000)).isEqualTo(new Answer.Queued(1));
            assertThat(c.acquire(3, 1, 60_000)).isEqualTo(new Answer.Queued(2));
            b.close();
            assertThat(c.acquire(2, 1, 60_000)).as("asked again elsewhere").isEqualTo(new Answer.Queued(1));
            c.release(held);
            await().until(() -> !c.offered.isEmpty());
            assertThat(c.offered.remove().promised().request().owner()).isEqualTo("owner 2");
        }
    }

    @Test
    void aLeaseOutlivesTheServerThatGrantedIt() throws Exception {
        try (OneOfSeveral b = server()) {
            OneOfSeveral a = server();
            Grant held = a.granted(1, 1);
            a.close();
            assertThat(b.renew(held)).isInstanceOf(Answer.Renewed.class);
            assertThat(b.acquire(2, 1, 0)).isInstanceOf(Answer.Busy.class);
        }
    }

    @Test
    void leasesOfASessionAreRenewedTogetherAndTheOthersAreTold() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            List<Renew> leases = new ArrayList<>();
            for (int i = 1; i <= 150; i++) {
                leases.add(OneOfSeveral.renewal(a.granted(1, i, lock(i)), lock(i)));
            }
            Grant released = ((Answer.Granted) a.acquire(1, 200, 0)).grant();
            a.release(released);
            Grant anothers = a.granted(2, 1, lock(201));
            Grant fromElsewhere = b.granted(1, 202, lock(202));
            List<Renew> others = List.of(
                    OneOfSeveral.renewal(released, LOCK),
                    new Renew(
                            lock(201),
                            anothers.id(),
                            anothers.token(),
                            leases.get(0).session()),
                    OneOfSeveral.renewal(fromElsewhere, lock(202)));
            leases.addAll(20, others);
            long before = System.currentTimeMillis();
            await().until(() -> System.currentTimeMillis() > before);
            assertThat(a.store.renew(leases).toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .containsExactlyInAnyOrderElementsOf(others);
            leases.removeAll(others);
            for (Renew lease : leases) {
                Answer.Described described = (Answer.Described) b.execute(new Describe(lease.lock()));
                assertThat(described.state().holders().get(0).expiresAtMillis() - OneOfSeveral.TTL_MILLIS)
                        .as("%s", lease.lock())
                        .isGreaterThanOrEqualTo(before);
            }
        }
    }

    @Test
    void leasesAreRenewedOneByOneWhenNothingIsKnownOfThemTogether() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            List<Renew> leases = new ArrayList<>();
            for (int i = 1; i <= 3; i++) {
                leases.add(OneOfSeveral.renewal(a.granted(1, i, lock(i)), lock(i)));
            }
            redis.ask("FUNCTION", "FLUSH");
            assertThat(a.store.renew(leases).toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .as("the library was loaded again, and its epochs are not in order yet")
                    .containsExactlyInAnyOrderElementsOf(leases);
            for (Renew lease : leases) {
                assertThat(a.execute(lease)).isInstanceOf(Answer.Renewed.class);
            }
            assertThat(a.store.renew(leases).toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .isEmpty();
            redis.kill9();
            assertThat(a.store.renew(leases).toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .containsExactlyInAnyOrderElementsOf(leases);
        }
    }

    private static LockName lock(int number) {
        return new LockName("orders/of-day/" + number);
    }

    @Test
    void whoIsAskedOrForcedElsewhereHearsOfIt() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            Grant held = a.granted(1, 1);
            assertThat(b.execute(new RequestRelease(LOCK, "ops", "deploy: at 5\n")))
                    .isEqualTo(new Answer.ReleaseRequested(1));
            await().until(() -> !a.asked.isEmpty());
            assertThat(a.asked.remove().why()).isEqualTo("deploy: at 5\n");
            b.execute(new ForceRelease(LOCK, 0, "ops", "müde"));
            await().until(() -> !a.ended.isEmpty());
            assertThat(a.ended.remove().tombstone())
                    .satisfies(end -> assertThat(end.end()).isEqualTo(End.FORCE_RELEASED))
                    .satisfies(end -> assertThat(end.detail()).isEqualTo("by ops: müde"))
                    .satisfies(end ->
                            assertThat(end.token()).isEqualTo(held.token().value()));
        }
    }

    @Test
    void pagesHoldEveryNameOnceAndInOrder() throws Exception {
        try (OneOfSeveral a = server()) {
            TreeSet<String> names = new TreeSet<>();
            for (int i = 0; i < 700; i++) {
                LockName lock = new LockName("many/" + i % 70 + "/" + i);
                names.add(lock.value());
                a.acquire(lock, 1, i + 1, 0);
            }
            a.acquire(new LockName("other"), 1, 1_000, 0);
            List<String> found = new ArrayList<>();
            String after = "";
            do {
                LockPage page =
                        a.store.list("many/", after, 40).toCompletableFuture().get(60, TimeUnit.SECONDS);
                page.locks().forEach(lock -> found.add(lock.name().value()));
                after = page.nextAfter();
            } while (!after.isEmpty());
            assertThat(found).containsExactlyElementsOf(names);
        }
    }

    @Test
    void theHistoryIsTheSameEverywhereAndHoldsWhatWasForced() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            a.granted(1, 1);
            b.execute(new ForceRelease(LOCK, 0, "ops", "test"));
            for (int i = 2; i < 60; i++) {
                a.release(a.granted(1, i));
            }
            List<HistoryEntry> told =
                    b.store.history(LOCK).toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThat(told).hasSize(HistoryEntry.LISTED_MAX);
            assertThat(a.store.history(LOCK).toCompletableFuture().get(60, TimeUnit.SECONDS))
                    .extracting(HistoryEntry::what)
                    .isEqualTo(told.stream().map(HistoryEntry::what).toList());
        }
    }

    @Test
    void aMissingRightIsFoundAtTheStart() throws Exception {
        try (RedisProcess redis = RedisProcess.start()) {
            redis.ask("ACL", "SETUSER", "pal", "on", ">x", "~p:*", "&p:*", "+@all", "-zadd", "-publish");
            assertThatThrownBy(() -> new OneOfSeveral(redis.uri().replace("redis://", "redis://pal:x@"), "p", 0, true))
                    .isInstanceOf(StoreUnusable.class)
                    .hasMessageContaining(
                            "does not let this user do +zadd +publish; give it these rights on the keys p:*")
                    .hasMessageNotContaining("pal:x");
        }
    }

    /** As docs/guides/operate.md has it. */
    @Test
    void theRightsThatTheGuideNamesAreEnough() throws Exception {
        String guide = Files.readString(Path.of("../docs/guides/operate.md"));
        Matcher line = Pattern.compile("^(ACL SETUSER palisade .*)$", Pattern.MULTILINE)
                .matcher(guide);
        List<String> lines = line.results().map(found -> found.group(1)).toList();
        assertThat(lines).as("the guide names them").isNotEmpty();
        try (RedisProcess redis = RedisProcess.start()) {
            lines.forEach(each -> redis.ask(each.split(" ")));
            try (OneOfSeveral a = new OneOfSeveral(
                    redis.uri().replace("redis://", "redis://palisade:SECRET@"), "palisade", 0, true)) {
                Grant held = a.granted(1, 1);
                assertThat(a.acquire(2, 1, 60_000)).isInstanceOf(Answer.Queued.class);
                a.release(held);
                await().until(() -> !a.offered.isEmpty());
                a.execute(new ForceRelease(LOCK, 0, "ops", "test"));
                assertThat(a.store.history(LOCK).toCompletableFuture().get(60, TimeUnit.SECONDS))
                        .isNotEmpty();
            }
        }
    }

    // ---- a Redis that loses things

    @Test
    void theLibraryMayVanishAtAnyTimeAndNothingIsLost() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 60_000, true)) {
            Grant held = a.granted(1, 1);
            redis.ask("FUNCTION", "FLUSH");
            assertThat(a.renew(held)).isInstanceOf(Answer.Renewed.class);
            a.release(held);
            assertThat(a.granted(2, 1).token()).as("no grace: nothing was lost").isGreaterThan(held.token());
            assertThat(a.events).anyMatch(line -> line.contains("the function library was loaded again"));
        }
    }

    @Test
    void afterALossNothingNewIsGrantedUntilHoldersHaveComeBack() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 3_000, true)) {
            Grant held = a.granted(1, 1);
            redis.ask("FLUSHALL");
            assertThat(reason(a.acquire(2, 1, 0))).isEqualTo(Reason.RECOVERING);
            assertThat(reason(a.renew(held))).isEqualTo(Reason.NOT_HOLDER);
            assertThat(a.execute(new Reclaim(LOCK, held.request(), held.token())))
                    .isInstanceOfSatisfying(
                            Answer.Resumed.class,
                            back -> assertThat(back.grant().token()).isEqualTo(held.token()));
            assertThat(a.acquire(2, 2, 0)).isInstanceOf(Answer.Busy.class);
            a.release(held);
            await().until(() -> a.acquire(2, 3, 0) instanceof Answer.Granted);
            Grant next = a.granted(3, 1, new LockName("another"));
            assertThat(next.token()).isNotNull();
        }
    }

    /** What frees memory, what brings leases back and what begins epochs runs on a full Redis; else nothing would ever end that. */
    @Test
    void aFullRedisOutlivesABreakOfItsEpochs() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 2_000, true)) {
            Grant held = a.granted(1, 1);
            Grant forgotten = a.granted(1, 2, lock(2));
            redis.ask("CONFIG", "SET", "maxmemory", "1");
            redis.ask("DEL", "p:{" + LOCK.domain() + "}:token");
            redis.ask("DEL", "p:{" + lock(2).domain() + "}:lock:" + lock(2).value());

            assertThat(a.renew(held)).isInstanceOf(Answer.Renewed.class);
            assertThat(a.execute(new Describe(LOCK))).isInstanceOf(Answer.Described.class);
            redis.ask("FUNCTION", "FLUSH");
            assertThat(a.tryOnce(1, 9))
                    .as("loading the library takes memory")
                    .asString()
                    .contains("has no memory for writes");
            redis.ask("CONFIG", "SET", "maxmemory", "0");
            assertThat(a.renew(held)).isInstanceOf(Answer.Renewed.class);

            redis.ask("CONFIG", "SET", "maxmemory", "1");
            redis.ask("DEL", "p:{" + lock(2).domain() + "}:token");
            assertThat(a.execute(new Reclaim(lock(2), forgotten.request(), forgotten.token())))
                    .isInstanceOf(Answer.Resumed.class);
            a.events.clear();
            assertThat(a.tryOnce(2, 1)).asString().contains("has no memory for writes");
            assertThat(a.release(held)).isEqualTo(new Answer.Released());
            assertThat(a.events).noneMatch(line -> line.contains("store_lost"));
        }
    }

    /** As after an upgrade: nothing can be read of it, so it is lost like anything else that a Redis loses. */
    @Test
    void aLockRecordOfAnUnknownFormatCountsAsLost() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 2_000, true)) {
            Grant held = a.granted(1, 1);
            String key = "p:{" + LOCK.domain() + "}:lock:" + LOCK.value();
            redis.ask("HSET", key, "h", "\u0001of a release before", "q", "who waited", "n1", "an end");
            assertThat(reason(a.renew(held))).isEqualTo(Reason.NOT_HOLDER);
            Grant next = a.granted(2, 1);
            assertThat(next.token()).isGreaterThan(held.token());
            assertThat(redis.ask("HKEYS", key)).doesNotContain("q", "n1");

            redis.ask("HSET", key, "h", "\u0001of a release before");
            assertThat(a.execute(new Expire(LOCK))).isInstanceOf(Answer.Expired.class);
            assertThat(redis.ask("EXISTS", key)).isEqualTo("0");
        }
    }

    /** Its holders cannot be known, so they are waited for. */
    @Test
    void aLibraryWithAnotherFormatBeginsWithTheGrace() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 60_000, true)) {
            Grant held = a.granted(1, 1);
            redis.ask("HSET", "p:{" + LOCK.domain() + "}:epoch", "format", "1");
            redis.ask("FUNCTION", "FLUSH");
            assertThat(a.renew(held)).isInstanceOf(Answer.Renewed.class);
            a.release(held);
            assertThat(reason(a.acquire(2, 1, 0))).isEqualTo(Reason.RECOVERING);
        }
    }

    @Test
    void aWaiterThatRedisForgotGoesOnWaiting() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 1_000, true)) {
            a.granted(1, 1);
            assertThat(a.acquire(2, 1, 60_000)).isInstanceOf(Answer.Queued.class);
            redis.ask("FLUSHALL");
            await().until(() -> !a.offered.isEmpty());
            Grant promised = a.offered.element().promised();
            assertThat(promised.request().owner()).isEqualTo("owner 2");
            // It was a poll that brought the offer about, so both its answer and its event say so.
            assertThat(a.accept(promised)).isInstanceOf(Answer.Granted.class);
            assertThat(a.offered).as("told once").hasSize(1);
        }
    }

    /** Nobody holds it as far as Redis knows, so the repeated acquire is granted at once: its client waits for an offer. */
    @Test
    void aWaiterWhoseLockWasForgottenWithItIsToldThatItHasIt() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            a.granted(1, 1);
            assertThat(a.acquire(2, 1, 60_000)).isInstanceOf(Answer.Queued.class);
            long lost = System.currentTimeMillis();
            redis.ask("FLUSHALL");
            await().until(() -> !a.offered.isEmpty());
            OneOfSeveral.Offered told = a.offered.remove();
            assertThat(told.promised().request().owner()).isEqualTo("owner 2");
            assertThat(told.decidedAtMillis())
                    .as("before it was granted")
                    .isLessThanOrEqualTo(System.currentTimeMillis());
            assertThat(told.promised().expiresAtMillis()).isGreaterThan(lost);
            assertThat(a.accept(told.promised())).isInstanceOf(Answer.Granted.class);
            assertThat(a.acquire(3, 1, 0)).isInstanceOf(Answer.Busy.class);
        }
    }

    @Test
    void tokensRiseAcrossEveryLoss() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            List<Runnable> losses = List.of(
                    () -> redis.ask("FLUSHALL"),
                    () -> redis.ask("FUNCTION", "FLUSH"),
                    () -> redis.ask("DEL", "p:{" + LOCK.domain() + "}:token"),
                    () -> redis.ask("SET", "p:{" + LOCK.domain() + "}:token", "not a number"),
                    () -> redis.ask("SET", "p:{" + LOCK.domain() + "}:token", "5"),
                    () -> redis.ask("SET", "p:{" + LOCK.domain() + "}:token", "0x7fffffffffff"),
                    () -> redis.ask("RENAME", "p:{" + LOCK.domain() + "}:epoch", "p:{" + LOCK.domain() + "}:token"),
                    () -> redis.ask("DEL", "p:{" + LOCK.domain() + "}:epoch"),
                    () -> {
                        redis.kill9();
                        redis.restart();
                    });
            FencingToken last = new FencingToken(1);
            int number = 0;
            for (Runnable loss : losses) {
                loss.run();
                int request = ++number;
                await().until(() -> a.tryOnce(1, 1_000L * request) instanceof Answer.Granted);
                Grant held = ((Answer.Granted) a.tryOnce(1, 1_000L * request)).grant();
                assertThat(held.token()).as("after loss %d", number).isGreaterThan(last);
                last = held.token();
                a.release(held);
            }
        }
    }

    @Test
    void aSequencerThatIsKnownElsewhereLiftsTheTokensAboveIt() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            Grant held = a.granted(1, 1);
            FencingToken ahead = new FencingToken(held.token().value() + 4_096L * 3_600_000);
            assertThat(a.execute(new CheckSequencer(LOCK, held.id(), ahead))).isEqualTo(new Answer.Checked(false));
            a.release(held);
            assertThat(a.granted(2, 1).token()).isGreaterThan(ahead);
            FencingToken absurd = new FencingToken(FencingToken.MAX);
            a.execute(new CheckSequencer(LOCK, held.id(), absurd));
            assertThat(a.execute(new Describe(LOCK))).as("no clock is so wrong").isInstanceOf(Answer.Described.class);
            assertThat(a.acquire(3, 1, 60_000)).isInstanceOf(Answer.Queued.class);
        }
    }

    @Test
    void whereNoTokenIsLeftNobodyIsGrantedAndSoItIsSaid() throws Exception {
        try (RedisProcess redis = RedisProcess.start();
                OneOfSeveral a = server(redis, 0, true)) {
            redis.ask("SET", "p:{" + LOCK.domain() + "}:token", Long.toString(FencingToken.MAX - 1));
            assertThat(reason(a.acquire(1, 1, 0))).isEqualTo(Reason.TOKENS_EXHAUSTED);
            assertThat(a.granted(1, 2, new LockName("elsewhere")).token().value())
                    .isLessThan(FencingToken.MAX);
        }
    }

    @Test
    void whatWasSentBeforeTheStopIsAnswered() throws Exception {
        List<CompletableFuture<Answer>> answers = new ArrayList<>();
        try (OneOfSeveral a = server()) {
            for (int i = 0; i < 2_000; i++) {
                answers.add(a.store
                        .execute(new Acquire(
                                new LockName("stop/" + i), OneOfSeveral.request(1, i + 1), 0, 0, Long.MAX_VALUE))
                        .toCompletableFuture());
            }
        }
        assertThat(answers).allMatch(CompletableFuture::isDone).noneMatch(CompletableFuture::isCompletedExceptionally);
    }

    @Test
    void aRequestThatIsRepeatedThroughAnotherServerIsTheSame() throws Exception {
        try (OneOfSeveral a = server();
                OneOfSeveral b = server()) {
            Grant held = a.granted(1, 1);
            Acquire again = new Acquire(LOCK, OneOfSeveral.request(1, 1), 0, 10, Long.MAX_VALUE);
            assertThat(b.execute(again))
                    .isInstanceOfSatisfying(
                            Answer.Granted.class,
                            same -> assertThat(same.grant().token()).isEqualTo(held.token()));
        }
    }

    private static Reason reason(Answer answer) {
        return ((Answer.Refused) answer).rejection().reason();
    }
}
