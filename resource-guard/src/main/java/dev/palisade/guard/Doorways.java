package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.core.Binding;
import dev.palisade.guard.core.Mark;
import dev.palisade.guard.mark.BaseMark;
import dev.palisade.guard.mark.KeptMarks;
import dev.palisade.guard.mark.StoredMark;
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
final class Doorways {
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
    private final int marksMax;
    private final boolean complete;
    private long closedUntilNanos;
    private final Map<String, Doorway> open = new ConcurrentHashMap<>();
    private final Map<String, CompletableFuture<Doorway>> opening = new HashMap<>();
    private final Map<String, StoredMark> kept = new HashMap<>();
    private final Map<Domain, CompletableFuture<Long>> bases = new HashMap<>();

    /** @param closedUntilNanos calls that an earlier process let in may be running until then */
    Doorways(KeptMarks marks, long closedUntilNanos, @Nullable LockService lockService, int marksMax, House house) {
        this.house = house;
        this.lockService = lockService;
        this.marksMax = marksMax;
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

    /** The doorway of a resource, from what is kept of it. The stage fails with a {@link RejectedException}. */
    synchronized CompletionStage<Doorway> open(Binding binding, Sequencer sequencer) {
        String resource = binding.resource();
        Doorway known = known(binding, sequencer);
        if (known != null) {
            return CompletableFuture.completedStage(known);
        }
        CompletableFuture<Doorway> pending = opening.get(resource);
        if (pending == null) {
            pending = start(resource, sequencer).toCompletableFuture().thenApply(doorway -> opened(resource, doorway));
            if (!pending.isDone()) {
                opening.put(resource, pending);
                var unused = pending.whenComplete((doorway, failure) -> closed(resource));
            }
        }
        return pending.thenApply(doorway -> known(binding, sequencer));
    }

    /** Whether no call waits, runs or is quarantined anywhere. */
    boolean areIdle() {
        return open.values().stream().allMatch(Doorway::isIdle);
    }

    /**
     * Whether nothing can be known here of earlier grants yet: the store is new, and no base mark was asked for. What begins
     * like this starts from tokens that are fresh when the first call comes.
     */
    synchronized boolean isUnused() {
        return !complete && kept.isEmpty() && bases.isEmpty() && open.isEmpty() && opening.isEmpty();
    }

    /** Calls that another guard let in may be running until then; for resources that are not open yet. */
    synchronized void closeUntil(long nanos) {
        closedUntilNanos = nanos;
    }

    /** Asks every call that runs anywhere to stop. */
    void stopAll() {
        open.values().forEach(Doorway::stopAll);
    }

    /** The mark of {@code resource}; empty when none is remembered. */
    synchronized Optional<StoredMark> mark(String resource) {
        Doorway doorway = open.get(resource);
        return doorway == null ? Optional.ofNullable(kept.get(resource)) : Optional.of(doorway.stored());
    }

    private synchronized Doorway opened(String resource, Doorway doorway) {
        kept.remove(resource);
        open.put(resource, doorway);
        return doorway;
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
        return barrier(sequencer)
                .thenCompose(token -> house.store()
                        .put(stored(resource, sequencer, token))
                        .thenApply(done -> doorway(resource, sequencer, token, untilNanos)));
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
        CompletableFuture<Long> fresh = barrier(sequencer)
                .thenCompose(token -> house.store()
                        .putBase(new BaseMark(domain.issuer(), domain.number(), token), List.of())
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

    /** A barrier that was not had is asked for again by the next call. */
    private synchronized void forget(Domain domain, CompletableFuture<Long> base) {
        bases.remove(domain, base);
    }

    private CompletionStage<Long> barrier(Sequencer sequencer) {
        if (lockService == null) {
            return CompletableFuture.failedStage(new Rejection(
                            Reason.MARK_UNAVAILABLE,
                            "the guard has no mark of lock '" + sequencer.lock()
                                    + "' and no lock service to ask for a barrier token; nothing was applied")
                    .asException());
        }
        return lockService.barrier(sequencer.lock());
    }

    /**
     * Keeps the number of marks below the maximum. What is dropped is retired first, under its own lock; whoever comes for it
     * afterwards waits for the new base in {@link #base}.
     */
    private void makeRoom() {
        if (open.size() + opening.size() + kept.size() < marksMax) {
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
        byDomain.entrySet().stream()
                .max(Comparator.comparingInt(entry -> entry.getValue().size()))
                .ifPresent(fullest -> raiseBase(fullest.getKey(), fullest.getValue()));
    }

    private void raiseBase(Domain domain, List<StoredMark> marks) {
        CompletableFuture<Long> before = bases.get(domain);
        if (before != null && !before.isDone()) {
            return; // What it will be is not known here, and a base that fell would admit whose marks were dropped.
        }
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
