package dev.palisade.server.store.log;

import dev.palisade.server.ownership.AppendFailure;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.Ownership;
import dev.palisade.server.ownership.OwnershipAction;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.ownership.OwnershipStep;
import dev.palisade.server.store.StoreUnusable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Driver of the ownership of a shared log: runs what the {@link OwnershipMachine} decides. Calls the log, and blocks as long as the log
 * does, but in {@link #send} and {@link #receive}. Used by the store's writer, one thread at a time.
 */
final class LogOwner {
    /** The claim is kept by an empty batch when there was none for so long. */
    static final long IDLE_MILLIS = 400;
    /** Batches that are sent before the oldest of them is known to be stored: while one travels, the next is decided. */
    static final int IN_FLIGHT_MAX = 2;
    /** Part of the time between two claims of a standby that it may spend on reading the log. */
    private static final long READ_AHEAD_MILLIS = 50;
    /** Where less is left of the claim of the active server, that may have ended: then only claims count. */
    private static final long READ_AHEAD_REMAINING_MILLIS = 500;
    /** Without any batch of the active server for so long, it may have ended. */
    private static final long SILENT_MILLIS = 2 * IDLE_MILLIS;
    /** A log that cannot be read is claimed again after this time. */
    private static final long UNUSABLE_MILLIS = 10_000;

    private static final Logger LOG = LoggerFactory.getLogger(LogOwner.class);

    private final FencedLog log;
    private final OwnershipMachine machine;
    private final LongSupplier millis;
    private final Duties duties;
    /** Where less is left of the claim of the active server, it is silent. */
    private final long silentBelowMillis;
    /** Changed in turns. */
    private volatile Ownership state;

    private long tokens;
    private long appendedMillis;
    /** When an empty batch was last tried, while only locks are freed: under load there is always a newer batch of another kind. */
    private long probedMillis;

    private long notBeforeMillis = Long.MIN_VALUE;
    private String why = "it has not claimed the log yet";
    private String lastRecordRefusal = "it gave no reason";
    private String activeAddress = "";
    /** Batches whose outcomes were not received, the oldest first. Changed in turns. */
    private volatile List<InFlight> flying = List.of();

    private static final class InFlight {
        /** Written after the outcome. */
        volatile boolean replied;

        @Nullable
        LogFailure failure;

        boolean failed() {
            return replied && failure != null;
        }
    }

    /** What an owner does with its memory. */
    interface Duties {
        /** A claim was granted. */
        void claimed(ClaimReply.Claimed claimed);

        /** Reads the log into a new memory. Returns the largest token issued, which the next sync makes the log's count. */
        long load(ClaimReply.Claimed claimed) throws StoreUnusable, LogFailure;

        /**
         * Writes all of memory into a log that lost data.
         *
         * @param part stores what was written so far; the rest is stored afterwards
         * @return the largest token issued
         */
        long copy(ClaimReply.Claimed claimed, Records.Part part) throws LogFailure;

        /**
         * Starts leases and offers at their full length, and runs commands from now on.
         *
         * @param recordRefusal why the log refuses records, so that only commands run that free locks; null: all commands run
         */
        void serve(ClaimReply.Claimed claimed, @Nullable String recordRefusal);

        /** Makes a loader for a log that is read from its start. */
        FencedLog.Loader newLoader();

        /** Runs no command: the memory stays, and so do the batches whose sync failed. */
        void suspend(String why);

        /** The oldest batch that was synced is stored, at the latest under this claim: its results may be told. */
        void acknowledge(ClaimReply.Claimed claimed);

        /**
         * The log went on without this server: its memory counts no more.
         *
         * @param activeAddress where clients reach the server that owns the log; empty if that is not known
         */
        void drop(String why, String activeAddress);

        /**
         * A claim was not granted, and there is no memory.
         *
         * @param isTakeover whether the server that owns the log is silent, or none does
         */
        void standBy(String why, String activeAddress, boolean isTakeover);
    }

    /**
     * @param claimMillis how long a claim lasts
     * @param millis a clock that never goes back
     */
    LogOwner(FencedLog log, OwnershipMachine machine, long claimMillis, LongSupplier millis, Duties duties) {
        this.log = log;
        this.silentBelowMillis = claimMillis - SILENT_MILLIS;
        this.machine = machine;
        this.millis = millis;
        this.duties = duties;
        this.state = machine.started(millis.getAsLong());
    }

    /** Does what is due; afterwards, whether a batch may be decided. */
    boolean isReady() {
        if (millis.getAsLong() >= notBeforeMillis) {
            run(machine.tick(state, millis.getAsLong()));
        }
        long now = millis.getAsLong();
        if (state.phase() == Ownership.Phase.FREEING && flying.isEmpty() && now - probedMillis >= IDLE_MILLIS) {
            probedMillis = now;
            probe();
        }
        return state.isServing();
    }

    /** Whether the claim has to be kept by an empty batch. */
    boolean isIdle() {
        return millis.getAsLong() - appendedMillis >= IDLE_MILLIS;
    }

    /** When there is something to do without being asked. */
    long nextDueMillis() {
        long wakes = Math.max(state.wakeMillis(), notBeforeMillis);
        return state.isServing() ? Math.min(wakes, appendedMillis + IDLE_MILLIS) : wakes;
    }

    /** Whether the owner only sends batches and receives their outcomes now: neither of both blocks. */
    boolean onlySends() {
        return state.phase() == Ownership.Phase.ACTIVE && !state.stopping();
    }

    /**
     * Sends a batch.
     *
     * @param onReply called on any thread when the outcome is there, perhaps before this returns
     */
    void send(long issued, Runnable onReply) {
        tokens = issued;
        state = machine.sent(state);
        InFlight sent = new InFlight();
        List<InFlight> longer = new ArrayList<>(flying);
        longer.add(sent);
        flying = List.copyOf(longer);
        log.send(issued, failure -> {
            sent.failure = failure;
            sent.replied = true;
            onReply.run();
        });
    }

    /** Whether the outcome of a batch was not received. Thread-safe. */
    boolean isWaiting() {
        return !flying.isEmpty();
    }

    /** Whether no batch may be sent before an outcome is received. Thread-safe, in so far as it may be true a moment too late. */
    boolean isFull() {
        List<InFlight> now = flying;
        return now.size() >= (onlySends() ? IN_FLIGHT_MAX : 1) || now.stream().anyMatch(InFlight::failed);
    }

    /** Whether there is an outcome to receive. A failure counts when none is in flight any more. Thread-safe. */
    boolean isReplied() {
        List<InFlight> now = flying;
        return !now.isEmpty()
                && now.get(0).replied
                && (!now.get(0).failed() || now.stream().allMatch(each -> each.replied));
    }

    /** Takes the outcome of the oldest batch; that of all, if it failed. {@link Duties} learns what came of it. */
    void receive() {
        List<InFlight> received = flying;
        LogFailure failure = received.get(0).failure;
        if (failure == null) {
            flying = received.subList(1, received.size());
            appended();
            return;
        }
        flying = List.of();
        boolean refused = received.stream()
                .allMatch(each -> each.failure != null && each.failure.kind() == AppendFailure.REFUSED);
        failed(refused ? failure : LogFailure.unknown(failure.line()));
    }

    /** Ends the claim if there is one, and every other duty. */
    void stop() {
        run(machine.stopping(state));
    }

    private void serve(@Nullable String recordRefusal) {
        probedMillis = millis.getAsLong();
        log.frees(recordRefusal != null);
        duties.serve(state.granted(), recordRefusal);
    }

    /** Tries an empty ordinary batch; if it is refused still, one that keeps the claim. */
    private void probe() {
        state = machine.probing(state);
        log.frees(false);
        try {
            log.sync(tokens);
            appendedMillis = millis.getAsLong();
            run(machine.probed(state));
        } catch (LogFailure e) {
            log.frees(true);
            if (e.kind() == AppendFailure.REFUSED) {
                append();
            } else {
                failed(e);
            }
        }
    }

    private void append() {
        try {
            log.sync(tokens);
            appended();
        } catch (LogFailure e) {
            failed(e);
        }
    }

    private void appended() {
        appendedMillis = millis.getAsLong();
        run(machine.appended(state));
    }

    private void failed(LogFailure failure) {
        why = failure.line();
        if (failure.kind() == AppendFailure.REFUSED) {
            lastRecordRefusal = why;
        }
        run(machine.appendFailed(state, failure.kind(), millis.getAsLong()));
    }

    private void run(OwnershipStep step) {
        state = step.next();
        for (OwnershipAction action : step.actions()) {
            run(action);
        }
    }

    private void run(OwnershipAction action) {
        switch (action) {
            case CLAIM -> claim();
            case LOAD -> load();
            case SERVE -> serve(null);
            case SERVE_FREEING -> serve(lastRecordRefusal);
            case SUSPEND -> duties.suspend(why);
            case ACKNOWLEDGE -> duties.acknowledge(state.granted());
            case RESEND -> append();
            case DROP -> duties.drop(why, activeAddress);
            case YIELD -> yieldLog();
            case STOP -> {}
            case REWRITE -> rewrite();
        }
    }

    private void claim() {
        ClaimReply reply;
        try {
            reply = log.claim(state.past());
        } catch (LogFailure e) {
            why = e.line();
            activeAddress = "";
            standsBy(false);
            run(machine.claimFailed(state, millis.getAsLong()));
            return;
        }
        if (reply instanceof ClaimReply.Claimed claimed) {
            tokens = Math.max(tokens, claimed.tokens());
            appendedMillis = millis.getAsLong();
            duties.claimed(claimed);
        } else if (reply instanceof ClaimReply.Held held) {
            activeAddress = held.address();
            why = "lock server " + held.address() + " is active";
            standsBy(held.remainingMillis() < silentBelowMillis);
        } else {
            activeAddress = "";
            why = "the log lost data and waits for its last owner";
            standsBy(true);
        }
        run(machine.claimReplied(state, reply, millis.getAsLong()));
        if (reply instanceof ClaimReply.Held held
                && state.past().isNone()
                && held.remainingMillis() >= READ_AHEAD_REMAINING_MILLIS) {
            readAhead();
        }
    }

    private void readAhead() {
        long until = millis.getAsLong() + READ_AHEAD_MILLIS;
        while (log.readAhead(duties::newLoader) && millis.getAsLong() < until) {}
    }

    /** Callers learn why there is no claim, and not only what began it. */
    private void standsBy(boolean isTakeover) {
        if (state.past().isNone()) {
            duties.standBy(why, activeAddress, isTakeover);
        } else {
            duties.suspend(why);
        }
    }

    private void load() {
        try {
            tokens = state.granted().tokens();
            log.frees(state.refusal() != Ownership.Refusal.NONE);
            tokens = duties.load(state.granted());
            log.sync(tokens);
            appendedMillis = millis.getAsLong();
            OwnershipStep appended = machine.appended(state);
            state = appended.next();
            run(machine.loaded(state));
        } catch (LogFailure e) {
            boolean frees = e.kind() == AppendFailure.REFUSED && state.refusal() == Ownership.Refusal.NONE;
            failed(frees ? e : LogFailure.unknown(e.line()));
            if (frees) {
                load(); // Once more, on the way that is open to what frees locks.
            }
        } catch (StoreUnusable e) {
            why = String.valueOf(e.getMessage());
            notBeforeMillis = millis.getAsLong() + UNUSABLE_MILLIS;
            release();
            run(machine.appendFailed(state, AppendFailure.UNKNOWN, millis.getAsLong()));
        }
    }

    private void rewrite() {
        try {
            log.frees(state.refusal() != Ownership.Refusal.NONE);
            log.beginCopy();
            tokens = duties.copy(state.granted(), this::storePart);
            state = machine.sentLast(state);
            log.syncCopy(tokens);
            appended();
        } catch (LogFailure e) {
            failed(e);
        }
    }

    private void storePart() throws LogFailure {
        state = machine.sent(state);
        log.sync(state.granted().tokens());
        appendedMillis = millis.getAsLong();
        state = machine.appended(state).next();
    }

    /** Keeps the claim while the log is read. */
    void keepClaim() throws LogFailure {
        if (isIdle()) {
            log.sync(state.granted().tokens());
            appendedMillis = millis.getAsLong();
            state = machine.appended(state).next();
        }
    }

    private void yieldLog() {
        try {
            log.endClaim();
            run(machine.appended(state));
        } catch (LogFailure e) {
            failed(e);
        }
    }

    /** A server that cannot read the log does not keep it from one that can. */
    private void release() {
        try {
            log.endClaim();
        } catch (LogFailure e) {
            LOG.debug("the claim ends by itself: {}", e.getMessage());
        }
    }
}
