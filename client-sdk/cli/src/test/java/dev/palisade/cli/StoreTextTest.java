package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.SharedLog;
import dev.palisade.proto.v1.Standby;
import dev.palisade.proto.v1.StoreReply;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;

class StoreTextTest {
    private static final Instant NOW = Instant.parse("2026-11-21T12:00:30Z");
    private static final Clock CLOCK = Clock.fixed(NOW, ZoneOffset.UTC);

    private static Epoch.Builder epoch(long base, int secondsAgo, String why, long recoveringMillis) {
        return Epoch.newBuilder()
                .setBaseToken(base)
                .setBeganAtEpochMillis(NOW.minusSeconds(secondsAgo).toEpochMilli())
                .setWhy(why)
                .setRecoveringMillis(recoveringMillis);
    }

    private static StoreReply.Builder store(String kind, String where, boolean up, Instant since, String why) {
        return StoreReply.newBuilder()
                .setKind(kind)
                .setWhere(where)
                .setUp(up)
                .setSinceEpochMillis(since.toEpochMilli())
                .setWhy(why);
    }

    @Test
    void aStoreThatIsUpIsOneLineAndItsEpoch() {
        StoreReply.Builder store = store("embedded", "/var/lib/a\u001b[31m", true, NOW.minusSeconds(300), "")
                .setEpoch(epoch(77, 300, "this server started", 0).setAheadMillis(1_500));
        assertThat(StoreText.shown(store.build(), CLOCK)).isEqualTo("""
                        embedded at /var/lib/a\\u{1b}[31m: up since 5 min ago (2026-11-21T11:55:30Z)
                        epoch: tokens above 77, since 5 min ago (2026-11-21T11:55:30Z): this server started; tokens are 1.5 s ahead of the clock
                        """);
    }

    @Test
    void aStoreThatIsDownSaysWhyAndWhereItWas() {
        StoreReply.Builder store = store("redis", "10.0.0.1:6379", false, NOW.minusSeconds(3), "no primary");
        assertThat(StoreText.shown(store.build(), CLOCK))
                .isEqualTo("redis at 10.0.0.1:6379: DOWN since 3.0 s ago (2026-11-21T12:00:27Z): no primary\n");
    }

    @Test
    void aStoreThatWasNeverReachedHasNoAddress() {
        StoreReply.Builder store = store("redis", "", false, NOW.minusSeconds(3), "refused");
        assertThat(StoreText.shown(store.build(), CLOCK))
                .isEqualTo("redis: DOWN since 3.0 s ago (2026-11-21T12:00:27Z): refused\n");
    }

    @Test
    void theJsonHasTheShapeOfTheReferencePage() {
        StoreReply.Builder store = store("redis", "a:1", true, NOW, "w");
        String both =
                "{\"kind\":\"redis\",\"where\":\"a:1\",\"up\":true,\"since\":\"2026-11-21T12:00:30Z\",\"why\":\"w\",";
        assertThat(StoreText.json(store.build())).hasToString(both + "\"standby\":false}");
        store.setEpoch(epoch(5, 30, "lost", 20).setAheadMillis(1_500));
        assertThat(StoreText.json(store.build()))
                .hasToString(
                        both + "\"epoch\":{\"base_token\":5,\"began_at\":\"2026-11-21T12:00:00Z\",\"why\":\"lost\","
                                + "\"recovering_millis\":20,\"ahead_millis\":1500},\"standby\":false}");
    }

    private static StoreReply shared(SharedLog.Builder log) {
        return store("redis", "10.0.0.5:6379", true, NOW.minusSeconds(3), "")
                .setLog(log)
                .build();
    }

    private static SharedLog.Builder log(String why) {
        return SharedLog.newBuilder()
                .setActive("a:7600")
                .setWriter("00ff")
                .setBatch(812)
                .setTerm(3)
                .setClaimMillis(2_000)
                .setClaimRemainingMillis(1_700)
                .setTakenOverAtEpochMillis(NOW.minusSeconds(12).toEpochMilli())
                .setTakenOverWhy(why)
                .setTakenOverFrom("b:7600");
    }

    @Test
    void aSharedLogShowsTheActiveServerTheTakeoverAndTheStandbys() {
        StoreReply store = shared(log("STOPPED")
                .addStandbys(Standby.newBuilder()
                        .setAddress("b\u001b[31m")
                        .setSinceEpochMillis(NOW.minusSeconds(60).toEpochMilli())
                        .setLastSeenEpochMillis(NOW.minusMillis(250).toEpochMilli())));
        assertThat(StoreText.shown(store, CLOCK)).isEqualTo("""
                        redis at 10.0.0.5:6379: up since 3.0 s ago (2026-11-21T12:00:27Z)
                        active: a:7600, claim of 2.0 s with 1.7 s left; term 3, writer 00ff, batch 812
                        last takeover: 12 s ago (2026-11-21T12:00:18Z) from b:7600: the former active server stopped
                        standby: b\\u{1b}[31m, since 60 s ago (2026-11-21T11:59:30Z), last seen 0.3 s ago (2026-11-21T12:00:29Z)
                        """);
        assertThat(StoreText.json(store).get("log"))
                .hasToString("{\"active\":\"a:7600\",\"writer\":\"00ff\",\"batch\":812,\"term\":3,"
                        + "\"claim_millis\":2000,\"claim_remaining_millis\":1700,"
                        + "\"taken_over_at\":\"2026-11-21T12:00:18Z\",\"taken_over_why\":\"STOPPED\","
                        + "\"taken_over_from\":\"b:7600\",\"standbys\":[{\"address\":\"b\\u001b[31m\","
                        + "\"since\":\"2026-11-21T11:59:30Z\",\"last_seen\":\"2026-11-21T12:00:29.750Z\"}]}");
    }

    @Test
    void aClaimThatIsOverAndAnUnknownTakeoverAreSaidToBe() {
        SharedLog.Builder over = log("").clearTakenOverAtEpochMillis().setClaimRemainingMillis(0);
        assertThat(StoreText.shown(shared(over), CLOCK))
                .endsWith("active: none; the claim of a:7600 is over; term 3, writer 00ff, batch 812\nstandby: none\n");
        assertThat(StoreText.json(shared(over)).getAsJsonObject("log").has("taken_over_at"))
                .isFalse();
        assertThat(StoreText.shown(shared(log("NEW_WORD").clearTakenOverFrom()), CLOCK))
                .contains("last takeover: 12 s ago (2026-11-21T12:00:18Z): NEW_WORD\n");
        assertThat(StoreText.shown(
                        store("redis", "x", false, Instant.EPOCH, "a standby").build(), CLOCK))
                .isEqualTo("redis at x: DOWN: a standby\n");
        StoreReply standby = store("redis", "x", false, Instant.EPOCH, "y is active")
                .setStandby(true)
                .build();
        assertThat(StoreText.shown(standby, CLOCK)).isEqualTo("redis at x: standby: y is active\n");
    }

    @Test
    void aLockSaysWhichEpochItIsInAndThatItsStoreIsRecovering() {
        DescribeReply lock = DescribeReply.newBuilder()
                .setLock("x")
                .setEpoch(epoch(12, 3, "the primary changed", 7_000))
                .build();
        assertThat(LockText.shown(lock, CLOCK))
                .isEqualTo("x: free\n\nepoch: tokens above 12, since 3.0 s ago (2026-11-21T12:00:27Z):"
                        + " the primary changed; recovering from data loss: no new locks for 7.0 s\n");
        assertThat(StoreText.shown(epoch(12, 3, "first met", 0).build(), CLOCK))
                .isEqualTo("epoch: tokens above 12, since 3.0 s ago (2026-11-21T12:00:27Z): first met\n");
        assertThat(LockText.json(lock)
                        .getAsJsonObject("epoch")
                        .get("recovering_millis")
                        .getAsLong())
                .isEqualTo(7_000);
    }
}
