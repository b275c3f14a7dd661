package dev.palisade.server.store.redis;

import dev.palisade.contract.LockName;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** One of the 256 domains: its keys, the largest token known of it, and its epoch as Redis last told it. Safe for use by many threads. */
final class Domain {
    static final int COUNT = 256;
    private static final long TOKENS_PER_MILLI = 4_096;
    /** 2024-01-01T00:00Z. */
    private static final long ERA_MILLIS = 1_704_067_200_000L;

    static final long CLOCK_AHEAD_MAX_MILLIS = 24 * 3_600_000L;

    private final String tag;
    final byte[] token;
    final byte[] epochKey;
    final byte[] due;
    final byte[] names;
    final byte[] history;
    private final AtomicLong floor = new AtomicLong();
    private volatile @Nullable Epoch epoch;
    private volatile boolean exhausted;

    /**
     * @param base every token of the epoch is larger
     * @param beganMillis when it began, on the server's clock
     * @param recoveringUntilMillis until when nothing new is granted, on the server's clock
     * @param why it began
     */
    record Epoch(long base, long beganMillis, long recoveringUntilMillis, String why) {}

    Domain(String prefix, int number) {
        this.tag = prefix + ":{" + number + "}:";
        this.token = CommandWords.text(tag + "token");
        this.epochKey = CommandWords.text(tag + "epoch");
        this.due = CommandWords.text(tag + "due");
        this.names = CommandWords.text(tag + "names");
        this.history = CommandWords.text(tag + "history");
    }

    byte[] lockKey(LockName lock) {
        return CommandWords.text(tag + "lock:" + lock.value());
    }

    /** Prefix of the keys of its locks. */
    byte[] lockKeyPrefix() {
        return CommandWords.text(tag + "lock:");
    }

    /** The keys of a command, in the order of {@code step.lua}. */
    List<byte[]> keys(LockName lock) {
        return List.of(token, lockKey(lock), due, names, history);
    }

    long floor() {
        return floor.get();
    }

    /** Redis itself issued {@code token}. */
    void issued(long token) {
        if (token > floor.get()) {
            floor.accumulateAndGet(token, Math::max);
        }
    }

    /**
     * Somebody trustworthy knows {@code token}. Ignored when it is further ahead of the clock than any clock is wrong.
     *
     * @return whether it could be
     */
    boolean known(long token, long nowMillis) {
        if (token > (nowMillis + CLOCK_AHEAD_MAX_MILLIS - ERA_MILLIS) * TOKENS_PER_MILLI && token > floor.get()) {
            return false;
        }
        issued(token);
        return true;
    }

    /** How far the newest known token is ahead of the clock, in milliseconds; 0 when it is not. */
    long aheadMillis(long nowMillis) {
        return Math.max(0, floor.get() / TOKENS_PER_MILLI + ERA_MILLIS - nowMillis);
    }

    @Nullable
    Epoch epoch() {
        return epoch;
    }

    void epoch(Epoch now) {
        epoch = now;
        exhausted = false;
    }

    /** No epoch can begin above what was issued. */
    void exhausted() {
        epoch = null;
        exhausted = true;
    }

    boolean isExhausted() {
        return exhausted;
    }
}
