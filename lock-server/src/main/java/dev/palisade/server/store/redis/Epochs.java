package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.LockName;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Puts the epochs of all domains in order: looks for the primary anew, then asks it there. It never begins one by itself; the
 * function does, and only here it is told that the primary was looked for and that more than a minority names it. Safe for use by many threads; never blocks.
 */
final class Epochs {
    private final RedisLink link;
    private final String prefix;
    private final long graceMillis;
    private final LongSupplier nowMillis;
    private final RandomGenerator random;
    private final EventLog events;
    private final List<Domain> domains = new ArrayList<>(Domain.COUNT);

    /** While they wait for a majority, asking at once again helps nobody. */
    private static final long AGAIN_AFTER_MILLIS = 500;

    /** That a log has taken the place of this store, in one line; empty until then. Never taken back. */
    private volatile String moved = "";

    private @Nullable CompletableFuture<Void> opening;
    /** Why epochs wait, as it was told; null while they do not. */
    private @Nullable StoreFailure waits;

    private long waitsSinceMillis;
    private long openings;

    Epochs(RedisLink link, RedisStoreConfig config, LongSupplier nowMillis, RandomGenerator random, EventLog events) {
        this.link = link;
        this.prefix = config.prefix();
        this.graceMillis = config.failoverGraceMillis();
        this.nowMillis = nowMillis;
        this.random = random;
        this.events = events;
        for (int number = 0; number < Domain.COUNT; number++) {
            domains.add(new Domain(prefix, number));
        }
    }

    List<Domain> domains() {
        return domains;
    }

    Domain of(LockName lock) {
        return domains.get(lock.domain());
    }

    /** That a log has taken the place of this store, in one line; else empty. */
    String moved() {
        return moved;
    }

    /** Counts the openings that have ended: whoever was refused before one only has to ask again. */
    synchronized long openings() {
        return openings;
    }

    /** The epochs as Redis last told them. */
    List<StoreStatus.Epoch> told(long now) {
        List<StoreStatus.Epoch> told = new ArrayList<>(Domain.COUNT);
        for (int number = 0; number < Domain.COUNT; number++) {
            Domain domain = domains.get(number);
            Domain.@Nullable Epoch epoch = domain.epoch();
            if (epoch != null) {
                told.add(new StoreStatus.Epoch(
                        number,
                        epoch.base(),
                        epoch.beganMillis(),
                        epoch.why(),
                        Math.max(0, epoch.recoveringUntilMillis() - now),
                        domain.aheadMillis(now)));
            }
        }
        return told;
    }

    /** Asks the primary that was just found, at the start, for every epoch. */
    CompletableFuture<Void> openFirst(boolean init) {
        return askAll(init);
    }

    /**
     * Looks for the primary and asks it for every epoch; all who ask meanwhile get the same.
     *
     * @param suspected what a primary answered that may not be it any more
     */
    CompletableFuture<Void> open(Reply suspected) {
        CompletableFuture<Void> opened = new CompletableFuture<>();
        synchronized (this) {
            CompletableFuture<Void> running = opening;
            if (running != null) {
                return running;
            }
            if (waits != null && Math.abs(nowMillis.getAsLong() - waitsSinceMillis) < AGAIN_AFTER_MILLIS) {
                return CompletableFuture.failedFuture(waits);
            }
            opening = opened;
        }
        var unused = link.findPrimary(suspected)
                .thenCompose(found -> askAll(false))
                .whenComplete((done, failure) -> {
                    synchronized (this) {
                        opening = null;
                        openings++;
                    }
                    if (failure == null) {
                        opened.complete(null);
                    } else {
                        opened.completeExceptionally(failure);
                    }
                });
        return opened;
    }

    private CompletableFuture<Void> askAll(boolean init) {
        Begun begun = new Begun();
        CompletableFuture<Void> first = ask(domains.get(0), init, begun);
        return first.handle((done, failure) -> moved.isEmpty())
                .thenCompose(isHere -> isHere ? CompletableFuture.allOf(first, askOthers(init, begun)) : first)
                .thenRun(begun::tell)
                .thenRun(() -> waitOrGoOn(moved.isEmpty() ? begun.waiting() : moved));
    }

    /** Those that cannot see a log: its keys are with domain 0. */
    private CompletableFuture<Void> askOthers(boolean init, Begun begun) {
        return CompletableFuture.allOf(
                domains.stream().skip(1).map(domain -> ask(domain, init, begun)).toArray(CompletableFuture<?>[]::new));
    }

    /** Says once that epochs wait, and fails as long as they do. */
    private void waitOrGoOn(String waiting) {
        StoreFailure failure = waiting.isEmpty() ? null : StoreFailure.unavailable(waiting);
        boolean isNew;
        synchronized (this) {
            isNew = waits == null && failure != null;
            waits = failure;
            waitsSinceMillis = nowMillis.getAsLong();
        }
        if (isNew) {
            events.tell("epoch_waits", "message", waiting);
        }
        if (failure != null) {
            throw failure;
        }
    }

    private CompletableFuture<Void> ask(Domain domain, boolean init, Begun begun) {
        long sent = nowMillis.getAsLong();
        List<byte[]> words = List.of(
                number(domain.floor()),
                number(init || link.isConfirmed() ? 1 : 0),
                number(graceMillis),
                number(sent + Domain.CLOCK_AHEAD_MAX_MILLIS),
                number(random.nextInt(4_096)),
                number(init ? 1 : 0));
        List<byte[]> keys = new ArrayList<>(List.of(domain.token, domain.epochKey));
        if (domain == domains.get(0)) {
            keys.add(Call.bytes(new RedisLogKeys(prefix).head()));
        }
        return link.call("palisade_epoch", keys, words).thenAccept(reply -> {
            if (FunctionAnswer.isMoved(reply)) {
                moved = FunctionAnswer.suspicion(reply);
            } else if (FunctionAnswer.isSuspect(reply)) {
                begun.waits(FunctionAnswer.suspicion(reply));
            } else if (FunctionAnswer.string(reply.get(0)).equals("epoch")) {
                begun.take(domain, FunctionAnswer.list(reply.get(2)), sent - (Long) reply.get(1));
            } else {
                begun.exhausted(domain);
            }
        });
    }

    private static byte[] number(long number) {
        return CommandWords.text(Long.toString(number));
    }

    /** What one round of asking found that is new: one line for all domains alike. */
    private final class Begun {
        private final Map<String, Integer> whys = new TreeMap<>();
        private long highest;
        private long recoveringUntilMillis;
        private int waiting;
        private String whyWaiting = "";

        /** Only a majority's word begins one. */
        synchronized void waits(String why) {
            waiting++;
            whyWaiting = why;
        }

        /** Empty, or one line. */
        synchronized String waiting() {
            return waiting == 0
                    ? ""
                    : "a new epoch of " + waiting + " domains (" + whyWaiting
                            + ") waits until a majority of the Sentinels names the primary; see that they can be reached, or"
                            + " start with --init if this Redis was never used";
        }

        synchronized void take(Domain domain, List<Object> told, long shiftMillis) {
            long base = (Long) told.get(0);
            long recovering = (Long) told.get(3) + shiftMillis;
            String why = FunctionAnswer.string(told.get(4));
            Domain.@Nullable Epoch before = domain.epoch();
            domain.issued((Long) told.get(1));
            domain.epoch(new Domain.Epoch(base, (Long) told.get(2) + shiftMillis, recovering, why));
            if (before == null || before.base() != base) {
                whys.merge(why, 1, Integer::sum);
                highest = Math.max(highest, base);
                recoveringUntilMillis = Math.max(recoveringUntilMillis, recovering);
            }
        }

        synchronized void exhausted(Domain domain) {
            domain.exhausted();
            whys.merge("no token is left below 2^53", 1, Integer::sum);
        }

        synchronized void tell() {
            whys.forEach((why, count) -> events.tell(
                    "epoch_started",
                    "domains",
                    count,
                    "why",
                    why,
                    "tokens_above",
                    highest,
                    "recovering_ms",
                    Math.max(0, recoveringUntilMillis - nowMillis.getAsLong())));
        }
    }
}
