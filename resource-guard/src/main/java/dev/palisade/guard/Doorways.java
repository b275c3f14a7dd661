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
 * All doorways of a guard, and what a resource's doorway starts from: its kept mark, or its domain's base mark, or, where
 * neither can be known, a barrier token of the lock service. Bounded: when there are too many marks, the base of the
 * domain with the most idle ones is raised to the middle of these and those below are dropped. Those in use are kept.
 */
final class Doorways implements ResourceGates {
    /** Whose tokens, and of which domain. */
    private record Domain(String issuer, int number) {
        static Domain of(Sequencer sequencer) {
            return new Domain(sequencer.issuer(), sequencer.lock().domain());
        }

        static Domain of(StoredMark mark) {
            return new Domain(mark.issuer(), mark.lock().domain());
        }
    }

    private final House house;
    private final @Nullable LockService lockService;
    private final int maxMarks;
    private boolean complete;
    private long closedUntilNanos;
    private final Map<String, Doorway> open = new ConcurrentHashMap<>();
    private final Map<String, CompletableFuture<Doorway>> opening = new HashMap<>();
    private final Map<String, StoredMark> kept = new HashMap<>();
    private final Map<Domain, CompletableFuture<Long>> bases = new HashMap<>();

    /** How often the marks were raised: what was asked for before is not kept. */
    private int raises;

    /** @param closedUntilNanos calls that an earlier process let in may be running until then */
    Doorways(KeptMarks marks, long closedUntilNanos, @Nullable LockService lockService, int maxMarks, House house) {
        this.house = house;
        this.lockService = lockService;
        this.maxMarks = maxMarks;
        this.complete = marks.complete();
        this.closedUntilNanos = closedUntilNanos;
        marks.marks().forEach(mark -> kept.put(mark.resource(), mark));
        marks.bases()
                .forEach(base -> bases.put(
                        new Domain(base.issuer(), base.domain()), CompletableFuture.completedFuture(base.token())));
    }

    /** The doorway of a resource that was used before in this process; null: {@link #open}. */
    @Nullable
    Doorway known(Binding binding, Sequencer sequencer) {
        Doorway doorway = open.get(binding.resource());
        if (doorway != null && !doorway.isOf(sequencer)) {
            throw new Rejection(
                            Reason.WRONG_RESOURCE,
                            "resource '" + binding.resource() + "' is bound to lock '" + doorway.lock()
                                    + "' and to lock '" + sequencer.lock() + "'; bind it to one of them")
                    .asException();
        }
        return doorway;
    }

    @Override
    public @Nullable AdmittedCall enterAtOnce(Binding binding, Sequencer sequencer, Access access) {
        Doorway doorway = known(binding, sequencer);
        return doorway == null ? null : doorway.startAtOnce(sequencer, access);
    }

    /** The doorway of a resource, from what is kept of it. The stage fails with a {@link RejectedException}. */
    @Override
    public synchronized CompletionStage<Doorway> open(Binding binding, Sequencer sequencer) {
        String resource = binding.resource();
        Doorway known = known(binding, sequencer);
        if (known != null) {
            return CompletableFuture.completedStage(known);
        }
        CompletableFuture<Doorway> pending = opening.get(resource);
        if (pending == null) {
            int began = raises;
            pending = start(resource, sequencer)
                    .toCompletableFuture()
                    .thenApply(doorway -> opened(resource, doorway, began));
            if (!pending.isDone()) {
                opening.put(resource, pending);
                var unused = pending.whenComplete((doorway, failure) -> closed(resource));
            }
        }
        return pending.thenApply(doorway -> known(binding, sequencer));
    }

    @Override
    public synchronized int marks() {
        return open.size() + kept.size();
    }

    /** Whether no call waits, runs or is quarantined anywhere. */
    @Override
    public boolean areIdle() {
        return open.values().stream().allMatch(Doorway::isIdle);
    }

    /** Whether calls that an earlier process or another guard let in have ended. */
    @Override
    public synchronized boolean isWaitOver() {
        return closedUntilNanos - house.time().nanos() <= 0;
    }

    /**
     * Whether nothing can be known here of earlier grants yet: the store is new, and no base mark was asked for. What begins
     * like this starts from tokens that are fresh when the first call comes.
     */
    @Override
    public synchronized boolean isUnused() {
        return !complete && kept.isEmpty() && bases.isEmpty() && open.isEmpty() && opening.isEmpty();
    }

    /** Whether it is known that no guard admitted anything before: the store was made so and keeps nothing yet. */
    @Override
    public synchronized boolean isNeverUsed() {
        return complete && kept.isEmpty() && bases.isEmpty() && open.isEmpty() && opening.isEmpty();
    }

    /**
     * Raises every mark above all grants so far, as if the store were new: what is idle is forgotten and starts from a fresh
     * base mark when the next call comes, what is in use is raised to a barrier token. Asks running calls to stop; nobody
     * starts for &#916;. Calls must be held back until the result completes: then all of it is durable.
     *
     * @return fails with a {@link RejectedException}; raise again then, before anything is admitted
     */
    @Override
    public CompletionStage<Void> raiseAll() {
        long untilNanos = house.time().nanos() + house.quarantineNanos();
        List<Doorway> busy = new ArrayList<>();
        CompletionStage<Void> forgotten;
        synchronized (this) {
            raises++;
            complete = false;
            closedUntilNanos = untilNanos;
            kept.clear();
            bases.clear();
            open.values().removeIf(Doorway::retireIfIdle);
            busy.addAll(open.values());
            forgotten = house.store().forgetMarks();
        }
        busy.forEach(Doorway::stopAll);
        CompletableFuture<?>[] all = new CompletableFuture<?>[busy.size()];
        for (int i = 0; i < all.length; i++) {
            Doorway doorway = busy.get(i);
            all[i] = forgotten
                    .thenCompose(done -> barrier(doorway.lock()))
                    .thenCompose(token -> doorway.raiseTo(token, untilNanos))
                    .toCompletableFuture();
        }
        return forgotten.thenCompose(done -> CompletableFuture.allOf(all));
    }

    /** Calls that another guard let in may be running for &#916; from now on; for resources that are not open yet. */
    @Override
    public synchronized void waitForOthers() {
        closedUntilNanos = house.time().nanos() + house.quarantineNanos();
    }

    /**
     * {@link #waitForOthers} if {@link #isUnused}, in one step: a call that opens a resource comes before it, and makes the
     * doorways used, or after it, and waits.
     *
     * @return whether they are unused
     */
    @Override
    public synchronized boolean waitForOthersIfUnused() {
        boolean unused = isUnused();
        if (unused) {
            waitForOthers();
        }
        return unused;
    }

    /** Asks every call that runs anywhere to stop. */
    @Override
    public void stopAll() {
        open.values().forEach(Doorway::stopAll);
    }

    /** The mark of {@code resource}; empty when none is remembered. */
    @Override
    public synchronized Optional<StoredMark> mark(String resource) {
        Doorway doorway = open.get(resource);
        return doorway == null ? Optional.ofNullable(kept.get(resource)) : Optional.of(doorway.stored());
    }

    private synchronized Doorway opened(String resource, Doorway doorway, int began) {
        requireNoRaiseSince(began);
        kept.remove(resource);
        open.put(resource, doorway);
        return doorway;
    }

    /** Tokens that were asked for before the marks were raised say nothing about the grants that they missed. */
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

    private CompletionStage<Doorway> start(String resource, Sequencer sequencer) {
        StoredMark mark = kept.get(resource);
        if (mark == null) {
            makeRoom();
            return base(sequencer).thenApply(base -> doorway(resource, sequencer, base, closedUntilNanos));
        }
        if (mark.lock().equals(sequencer.lock()) && mark.issuer().equals(sequencer.issuer())) {
            return CompletableFuture.completedStage(new Doorway(mark, closedUntilNanos, house));
        }
        // Bound to another lock since: tokens of the two have no order, so a fresh one begins, and older calls end
        // first.
        long untilNanos = house.time().nanos() + house.quarantineNanos();
        int began = raises;
        return barrier(sequencer.lock())
                .thenCompose(token -> rebind(resource, sequencer, token, began)
                        .thenApply(done -> doorway(resource, sequencer, token, untilNanos)));
    }

    private synchronized CompletionStage<Void> rebind(String resource, Sequencer sequencer, long token, int began) {
        requireNoRaiseSince(began);
        return house.store().put(stored(resource, sequencer, token));
    }

    private Doorway doorway(String resource, Sequencer sequencer, long base, long untilNanos) {
        return new Doorway(stored(resource, sequencer, base), untilNanos, house);
    }

    private StoredMark stored(String resource, Sequencer sequencer, long base) {
        return new StoredMark(
                resource,
                sequencer.issuer(),
                sequencer.lock(),
                Mark.base(base),
                house.time().millis());
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
        return house.store().putBase(base, List.of());
    }

    /** A barrier that was not had is asked for again by the next call. */
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
     * Keeps the number of marks below the maximum. What is dropped is retired first, under its own lock; whoever comes for it
     * afterwards waits for the new base in {@link #base}.
     */
    private void makeRoom() {
        if (open.size() + opening.size() + kept.size() < maxMarks) {
            return;
        }
        Map<Domain, List<StoredMark>> byDomain = new HashMap<>();
        kept.values()
                .forEach(mark -> byDomain.computeIfAbsent(Domain.of(mark), d -> new ArrayList<>())
                        .add(mark));
        // Only what can be dropped counts: a domain of busy resources would be raised again and again for nothing.
        open.values().stream()
                .filter(Doorway::isIdle)
                .map(Doorway::stored)
                .forEach(mark -> byDomain.computeIfAbsent(Domain.of(mark), d -> new ArrayList<>())
                        .add(mark));
        byDomain.keySet().removeIf(domain -> !isBaseKnown(domain));
        byDomain.entrySet().stream()
                .max(Comparator.comparingInt(entry -> entry.getValue().size()))
                .ifPresent(fullest -> raiseBase(fullest.getKey(), fullest.getValue()));
    }

    /**
     * Whether a raised base would be compared with the one before. A base that is on its way, or that only a barrier token
     * can give, may be higher than all marks of its domain: in its place they would admit grants that it refuses.
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
            Doorway doorway = open.get(mark.resource());
            if (doorway == null ? mark.mark().highest() <= base : doorway.retire(base)) {
                dropped.add(mark.resource());
            }
        }
        CompletableFuture<Long> raised = house.store()
                .putBase(new BaseMark(domain.issuer(), domain.number(), base), dropped)
                .thenApply(done -> base)
                .toCompletableFuture();
        bases.put(domain, raised);
        dropped.forEach(open::remove);
        dropped.forEach(kept::remove);
    }
}
