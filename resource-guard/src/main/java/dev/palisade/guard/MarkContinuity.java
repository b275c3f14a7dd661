package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Continuity of a guard's marks across its registrations under one name. It stores, with the marks, the token of the
 * registration up to which they have missed no grant. A later registration continues it only if the lock service
 * shows that no other guard was registered in between. Otherwise all marks are raised as those of a new store. Never
 * admits a call. Its user waits for each result before the next request.
 */
final class MarkContinuity {
    /** Requests without a reply about the past of the name, before the marks are raised without one. */
    private static final int QUESTIONS_MAX = 3;

    private static final int SHOWN_MAX = 4;

    private final String name;
    private final LockName lock;
    private final LockService service;
    private final GuardContext context;
    private final ResourceGates gates;

    /** Token of the registration up to which the marks are whole; 0: they missed grants; null: never registered. */
    private @Nullable Long whole;

    /** Token of another's registration beside which this guard may continue. */
    private long beside;

    private int unanswered;

    /** Why the newest tokens are not known; null: they are. */
    private @Nullable String silence;

    /** @param whole what is kept with the marks; null: nothing */
    MarkContinuity(
            String name,
            LockName lock,
            @Nullable Long whole,
            LockService service,
            GuardContext context,
            ResourceGates gates) {
        this.name = name;
        this.lock = lock;
        this.whole = whole;
        this.service = service;
        this.context = context;
        this.gates = gates;
    }

    /** Whether the marks are known to be whole under this guard's registration {@code token}. */
    synchronized boolean isWhole(long token) {
        return whole != null && whole == token;
    }

    /**
     * Whether the guard may continue beside another's registration {@code token}: that of an earlier owner of its
     * marks. A new store may, too, and waits &#916; from then on.
     */
    synchronized boolean mayContinueBeside(long token) {
        if (beside != token && (isWhole(token) || gates.waitForOthersIfUnused())) {
            beside = token;
        }
        return beside == token;
    }

    /**
     * Another guard is registered with other marks and admits grants that these marks miss. A store that keeps no token yet
     * would pass for one that was never used; the others compare theirs.
     */
    synchronized void missesGrants() {
        if (whole == null) {
            whole = 0L;
            var unused = context.store().putRegistration(name, 0);
        }
    }

    /**
     * Makes the marks whole for this guard's new registration {@code token}, raising them if they may have missed a grant.
     *
     * @param hold called before the marks are raised: no call may be admitted from then on
     * @return completes when that is durable; fails with a {@link RejectedException}, and is asked again then
     */
    CompletionStage<Void> registered(long token, Runnable hold) {
        return refreshed().thenCompose(before -> registered(before.orElse(null), token, hold));
    }

    private CompletionStage<Void> registered(@Nullable Long before, long token, Runnable hold) {
        if (before == null && gates.waitForOthersIfUnused()) {
            // A new store starts from fresh tokens. Until now another guard may have had the name, with calls that run.
            return keep(token);
        }
        if (before != null && before == token) {
            // Kept by a commit whose reply was lost, so the marks were made whole before.
            synchronized (this) {
                whole = token;
            }
            return CompletableFuture.completedStage(null);
        }
        boolean fresh = before == null && gates.isNeverUsed();
        if (!fresh && (before == null || before == 0)) {
            return raise(before, token, "these marks were not kept under an earlier registration", hold)
                    .thenCompose(raised -> keep(token));
        }
        return recentTokens().thenCompose(tokens -> {
            Optional<String> unsaid = silence();
            boolean continues = fresh ? tokens.equals(List.of(token)) : endsWith(tokens, List.of(before, token));
            return (continues
                            ? CompletableFuture.<Void>completedStage(null)
                            : raise(
                                    before,
                                    token,
                                    unsaid.orElseGet(
                                            () -> "the newest ones that the lock server remembers: " + newest(tokens)),
                                    hold))
                    .thenCompose(done -> keep(token));
        });
    }

    /** The same beside the registration {@code token} of another process, which may admit grants that these marks miss. */
    CompletionStage<Void> registeredBeside(long token, boolean observes, Runnable hold) {
        return refreshed().thenCompose(before -> registeredBeside(before.orElse(null), token, observes, hold));
    }

    private CompletionStage<Void> registeredBeside(@Nullable Long before, long token, boolean observes, Runnable hold) {
        if (context.store().isShared()) {
            if (before != null && before == token) {
                continueBeside(token);
                return CompletableFuture.completedStage(null);
            }
            if (!observes) {
                return CompletableFuture.failedStage(notKept(token));
            }
            return raise(before, token, "it is of a guard that only observes", hold)
                    .thenCompose(raised -> keep(token))
                    .thenAccept(kept -> continueBeside(token));
        }
        return raise(before, token, "it is not this guard's, and not kept with its marks", hold)
                .thenAccept(raised -> continueBeside(token));
    }

    private synchronized void continueBeside(long token) {
        beside = token;
    }

    /** What is kept with the marks. Guards that share them take turns in having the name, so they read it anew. */
    private CompletionStage<Optional<Long>> refreshed() {
        if (context.store().isShared()) {
            return context.store().registration(name);
        }
        synchronized (this) {
            return CompletableFuture.completedStage(Optional.ofNullable(whole));
        }
    }

    /** The guard that has the name keeps its registration in the register before it admits anything. */
    private RejectedException notKept(long token) {
        return new Rejection(
                        Reason.MARK_UNAVAILABLE,
                        "registration " + token + " of '" + name
                                + "' is not in this guard's shared register yet; if this"
                                + " stays so, the guard that has the name uses a copy of the register, and two of them let"
                                + " late writes through: give all guards one database")
                .asException();
    }

    private CompletionStage<Void> raise(@Nullable Long before, long token, String why, Runnable hold) {
        hold.run();
        if (gates.waitForOthersIfUnused()) {
            return CompletableFuture.completedStage(null); // No mark to raise, but calls of the other guard may run.
        }
        context.warn(
                "marks_behind",
                new Rejection(
                        Reason.MARK_UNAVAILABLE,
                        "another guard may have protected '" + name + "' since "
                                + (before == null || before == 0 ? "these marks were made" : "registration " + before)
                                + " and before registration " + token + " (" + why
                                + "); all marks are raised: leases from before are refused once as TOKEN_STALE, and calls wait "
                                + context.quarantineNanos() / 1_000_000
                                + " ms: let one set of marks serve a name, and look for other guards of it"));
        return gates.raiseAll()
                .thenAccept(raised -> context.events()
                        .tellAlways(
                                "marks_raised",
                                "name",
                                name,
                                "registration",
                                token,
                                "wait_ms",
                                context.quarantineNanos() / 1_000_000));
    }

    /** Last, so that a guard that is killed before compares again. */
    private CompletionStage<Void> keep(long token) {
        return context.store().putRegistration(name, token).thenAccept(kept -> {
            synchronized (this) {
                whole = token;
            }
        });
    }

    /** Fails a few times with the lock service; then, and when the answer is no, nothing is known. */
    private CompletionStage<List<Long>> recentTokens() {
        CompletionStage<List<Long>> asked;
        try {
            asked = service.recentTokens(lock);
        } catch (RuntimeException e) {
            asked = CompletableFuture.failedStage(e);
        }
        return asked.handle(this::known).thenCompose(known -> known);
    }

    private synchronized CompletionStage<List<Long>> known(@Nullable List<Long> tokens, @Nullable Throwable failure) {
        if (failure == null && tokens != null) {
            unanswered = 0;
            silence = null;
            return CompletableFuture.completedStage(tokens);
        }
        if (failure != null && ++unanswered < QUESTIONS_MAX) {
            return CompletableFuture.failedStage(failure);
        }
        unanswered = 0;
        silence = failure == null
                ? ""
                : MultiAdmission.rejected(failure).rejection().message();
        return CompletableFuture.completedStage(List.of());
    }

    private synchronized Optional<String> silence() {
        return Optional.ofNullable(silence);
    }

    private static List<Long> newest(List<Long> tokens) {
        return tokens.subList(Math.max(0, tokens.size() - SHOWN_MAX), tokens.size());
    }

    private static boolean endsWith(List<Long> tokens, List<Long> last) {
        int from = tokens.size() - last.size();
        return from >= 0 && tokens.subList(from, tokens.size()).equals(last);
    }
}
