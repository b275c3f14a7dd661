package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.MarkStore.StoredMark;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Gates of a guard with marks of its own. A resource's gate starts from its stored mark, or from its domain's base
 * mark. Where neither can be known, it starts from a barrier token of the lock service.
 *
 * <p>Bounded: when there are too many marks, the domain with the most idle ones gets a higher base. That base is the
 * median of these marks, and the marks below it are dropped. Marks in use are kept.
 */
final class LocalGates implements ResourceGates {
    /** Domain of tokens of one issuer. */
    private record Domain(String issuer, int number) {
        static Domain of(Sequencer sequencer) {
            return new Domain(sequencer.issuer(), sequencer.lock().domain());
        }

        static Domain of(StoredMark mark) {
            return new Domain(mark.issuer(), mark.lock().domain());
        }
    }

    private final GuardContext context;
    private final @Nullable LockService lockService;
    private final int maxMarks;
    private boolean complete;
    private long closedUntilNanos;
    private final Map<String, LocalGate> open = new ConcurrentHashMap<>();
    private final Map<String, CompletableFuture<LocalGate>> opening = new HashMap<>();
    private final Map<String, StoredMark> kept = new HashMap<>();
    private final Map<Domain, CompletableFuture<Long>> bases = new HashMap<>();

    /** How often the marks were raised. Tokens that were requested before are discarded. */
    private int raises;

    /** @param closedUntilNanos calls that an earlier process admitted may be running until then */
    LocalGates(
            KeptMarks marks,
            long closedUntilNanos,
            @Nullable LockService lockService,
            int maxMarks,
            GuardContext context) {
        this.context = context;
        this.lockService = lockService;
        this.maxMarks = maxMarks;
        this.complete = marks.complete();
        this.closedUntilNanos = closedUntilNanos;
        marks.marks().forEach(mark -> kept.put(mark.resource(), mark));
        marks.bases()
                .forEach(base -> bases.put(
                        new Domain(base.issuer(), base.domain()), CompletableFuture.completedFuture(base.token())));
    }

    /** The gate of a resource that was used before in this process; null: {@link #open}. */
    @Nullable
    LocalGate known(Binding binding, Sequencer sequencer) {
        LocalGate gate = open.get(binding.resource());
        if (gate != null && !gate.isOf(sequencer)) {
            throw new Rejection(
                            Reason.WRONG_RESOURCE,
                            "resource '" + binding.resource() + "' is bound to lock '" + gate.lock() + "' and to lock '"
                                    + sequencer.lock() + "'; bind it to one of them")
                    .asException();
        }
        return gate;
    }

    @Override
    public @Nullable AdmittedCall tryEnter(Binding binding, Sequencer sequencer, Access access) {
        LocalGate gate = known(binding, sequencer);
        return gate == null ? null : gate.tryStart(sequencer, access);
    }

    @Override
    public synchronized CompletionStage<LocalGate> open(Binding binding, Sequencer sequencer) {
        String resource = binding.resource();
        LocalGate known = known(binding, sequencer);
        if (known != null) {
            return CompletableFuture.completedStage(known);
        }
        CompletableFuture<LocalGate> pending = opening.get(resource);
        if (pending == null) {
            int began = raises;
            pending = start(resource, sequencer).toCompletableFuture().thenApply(gate -> opened(resource, gate, began));
            if (!pending.isDone()) {
                opening.put(resource, pending);
                var unused = pending.whenComplete((gate, failure) -> closed(resource));
            }
        }
        return pending.thenApply(gate -> known(binding, sequencer));
    }

    @Override
    public synchronized int marks() {
        return open.size() + kept.size();
    }

    @Override
    public boolean areIdle() {
        return open.values().stream().allMatch(LocalGate::isIdle);
    }

    @Override
    public synchronized boolean isWaitOver() {
        return closedUntilNanos - context.time().nanos() <= 0;
    }

    /**
     * Whether nothing can be known here of earlier grants yet: the store is new, and no base mark was requested. The
     * first call then starts from a fresh token.
     */
    @Override
    public synchronized boolean isUnused() {
        return !complete && kept.isEmpty() && bases.isEmpty() && open.isEmpty() && opening.isEmpty();
    }

    /**
     * Whether it is known that no guard admitted anything before: the store was created as never used, and is empty.
     */
    @Override
    public synchronized boolean isNeverUsed() {
        return complete && kept.isEmpty() && bases.isEmpty() && open.isEmpty() && opening.isEmpty();
    }

    /**
     * Raises every mark above all grants so far, as if the store were new. Idle marks are dropped, and start from a
     * fresh base mark at the next call. Marks in use are raised to a barrier token. Requests running calls to stop;
     * no call starts for &#916;. Calls must be held back until the result completes: then all of it is durable.
     *
     * @return fails with a {@link RejectedException}; raise again then, before any call is admitted
     */
    @Override
    public CompletionStage<Void> raiseAll() {
        long untilNanos = context.time().nanos() + context.quarantineNanos();
        List<LocalGate> busy = new ArrayList<>();
        CompletionStage<Void> forgotten;
        synchronized (this) {
            raises++;
            complete = false;
            closedUntilNanos = untilNanos;
            kept.clear();
            bases.clear();
            open.values().removeIf(LocalGate::retireIfIdle);
            busy.addAll(open.values());
            forgotten = context.store().forgetMarks();
        }
        busy.forEach(LocalGate::stopAll);
        CompletableFuture<?>[] all = new CompletableFuture<?>[busy.size()];
        for (int i = 0; i < all.length; i++) {
            LocalGate gate = busy.get(i);
            all[i] = forgotten
                    .thenCompose(done -> barrier(gate.lock()))
                    .thenCompose(token -> gate.raiseTo(token, untilNanos))
                    .toCompletableFuture();
        }
        return forgotten.thenCompose(done -> CompletableFuture.allOf(all));
    }

    /** For resources that are not open yet. */
    @Override
    public synchronized void waitForOthers() {
        closedUntilNanos = context.time().nanos() + context.quarantineNanos();
    }

    /**
     * A concurrent call that opens a resource comes before this step, and makes the gates used, or after it, and
     * waits.
     */
    @Override
    public synchronized boolean waitForOthersIfUnused() {
        boolean unused = isUnused();
        if (unused) {
            waitForOthers();
        }
        return unused;
    }

    @Override
    public void stopAll() {
        open.values().forEach(LocalGate::stopAll);
    }

    @Override
    public synchronized Optional<StoredMark> mark(String resource) {
        LocalGate gate = open.get(resource);
        return gate == null ? Optional.ofNullable(kept.get(resource)) : Optional.of(gate.stored());
    }

    private synchronized LocalGate opened(String resource, LocalGate gate, int began) {
        requireNoRaiseSince(began);
        kept.remove(resource);
        open.put(resource, gate);
        return gate;
    }

    /** Tokens that were requested before the marks were raised do not cover the grants that the marks missed. */
    private void requireNoRaiseSince(int began) {
        if (raises != began) {
            throw new Rejection(
                            Reason.MARK_UNAVAILABLE,
                            "the guard's marks were raised meanwhile; nothing was applied: try again")
                    .asException();
        }
    }

    private synchronized void closed(String resource) {
        opening.remove(resource);
    }

    private CompletionStage<LocalGate> start(String resource, Sequencer sequencer) {
        StoredMark mark = kept.get(resource);
        if (mark == null) {
            makeRoom();
            return base(sequencer).thenApply(base -> gate(resource, sequencer, base, closedUntilNanos));
        }
        if (mark.lock().equals(sequencer.lock()) && mark.issuer().equals(sequencer.issuer())) {
            return CompletableFuture.completedStage(new LocalGate(mark, closedUntilNanos, context));
        }
        // Bound to another lock since. Tokens of two locks have no order, so the mark starts at a fresh token, and
        // older
        // calls end first.
        long untilNanos = context.time().nanos() + context.quarantineNanos();
        int began = raises;
        return barrier(sequencer.lock())
                .thenCompose(token -> rebind(resource, sequencer, token, began)
                        .thenApply(done -> gate(resource, sequencer, token, untilNanos)));
    }

    private synchronized CompletionStage<Void> rebind(String resource, Sequencer sequencer, long token, int began) {
        requireNoRaiseSince(began);
        return context.store().put(stored(resource, sequencer, token));
    }

    private LocalGate gate(String resource, Sequencer sequencer, long base, long untilNanos) {
        return new LocalGate(stored(resource, sequencer, base), untilNanos, context);
    }

    private StoredMark stored(String resource, Sequencer sequencer, long base) {
        return new StoredMark(
                resource,
                sequencer.issuer(),
                sequencer.lock(),
                Mark.base(base),
                context.time().millis());
    }

    private CompletionStage<Long> base(Sequencer sequencer) {
        Domain domain = Domain.of(sequencer);
        CompletableFuture<Long> base = bases.get(domain);
        if (base != null) {
            return base;
        }
        if (complete) {
            return CompletableFuture.completedStage(0L);
        }
        int began = raises;
        CompletableFuture<Long> fresh = barrier(sequencer.lock())
                .thenCompose(token -> keepBase(new BaseMark(domain.issuer(), domain.number(), token), began)
                        .thenApply(done -> token))
                .toCompletableFuture();
        bases.put(domain, fresh);
        var unused = fresh.whenComplete((token, failure) -> {
            if (failure != null) {
                forget(domain, fresh);
            }
        });
        return fresh;
    }

    private synchronized CompletionStage<Void> keepBase(BaseMark base, int began) {
        requireNoRaiseSince(began);
        return context.store().putBase(base, List.of());
    }

    /** Drops a failed base mark: the next call requests it again. */
    private synchronized void forget(Domain domain, CompletableFuture<Long> base) {
        bases.remove(domain, base);
    }

    private CompletionStage<Long> barrier(LockName lock) {
        if (lockService == null) {
            return CompletableFuture.failedStage(new Rejection(
                            Reason.MARK_UNAVAILABLE,
                            "the guard has no mark of lock '" + lock
                                    + "' and no lock service to ask for a barrier token; nothing was applied")
                    .asException());
        }
        return lockService.barrier(lock);
    }

    /**
     * Keeps the number of marks below the maximum. A dropped gate is retired first, under its own lock. A call that
     * then reopens the resource waits for the new base in {@link #base}.
     */
    private void makeRoom() {
        if (open.size() + opening.size() + kept.size() < maxMarks) {
            return;
        }
        Map<Domain, List<StoredMark>> byDomain = new HashMap<>();
        kept.values()
                .forEach(mark -> byDomain.computeIfAbsent(Domain.of(mark), d -> new ArrayList<>())
                        .add(mark));
        // Only idle marks count: raising the base of a domain of busy resources drops nothing.
        open.values().stream()
                .filter(LocalGate::isIdle)
                .map(LocalGate::stored)
                .forEach(mark -> byDomain.computeIfAbsent(Domain.of(mark), d -> new ArrayList<>())
                        .add(mark));
        byDomain.keySet().removeIf(domain -> !isBaseKnown(domain));
        byDomain.entrySet().stream()
                .max(Comparator.comparingInt(entry -> entry.getValue().size()))
                .ifPresent(fullest -> raiseBase(fullest.getKey(), fullest.getValue()));
    }

    /**
     * Whether a raised base would be compared with the one before. A base that is still pending, or that only a
     * barrier token can give, may be higher than all marks of its domain. Replacing it would admit grants that it
     * refuses.
     */
    private boolean isBaseKnown(Domain domain) {
        CompletableFuture<Long> base = bases.get(domain);
        return base == null ? complete : base.isDone() && !base.isCompletedExceptionally();
    }

    private void raiseBase(Domain domain, List<StoredMark> marks) {
        CompletableFuture<Long> before = bases.get(domain);
        long[] tokens =
                marks.stream().mapToLong(mark -> mark.mark().highest()).sorted().toArray();
        long base = Math.max(tokens[(tokens.length - 1) / 2], before == null ? 0 : before.join());
        List<String> dropped = new ArrayList<>();
        for (StoredMark mark : marks) {
            LocalGate gate = open.get(mark.resource());
            if (gate == null ? mark.mark().highest() <= base : gate.retire(base)) {
                dropped.add(mark.resource());
            }
        }
        CompletableFuture<Long> raised = context.store()
                .putBase(new BaseMark(domain.issuer(), domain.number(), base), dropped)
                .thenApply(done -> base)
                .toCompletableFuture();
        bases.put(domain, raised);
        dropped.forEach(open::remove);
        dropped.forEach(kept::remove);
    }
}
