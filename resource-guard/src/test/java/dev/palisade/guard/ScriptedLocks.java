package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.LockService.LeaseReply;
import dev.palisade.guard.LockService.LeaseRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** A lock service of one lock at a time, in memory: what it holds ends when a test says so, and it is away when told. */
final class ScriptedLocks implements LockService {
    private record Held(LeaseReply.Granted lease, LeaseRequest by) {}

    private final Map<LockName, Held> held = new HashMap<>();
    private final Map<RequestId, LeaseReply> replies = new HashMap<>();
    private final ManualTime time;
    private final Set<SessionId> dead = new HashSet<>();
    long token = 100;
    private final Map<LockName, Long> renewedAtNanos = new HashMap<>();
    boolean away;

    /** It answers everything but the question for a barrier token. */
    boolean barrierFails;

    /** What answers to the question for a barrier token wait for. */
    CompletableFuture<Void> slowBarrier = CompletableFuture.completedFuture(null);

    /** What answers to the question for a live lease wait for. */
    CompletableFuture<Void> slowIsAlive = CompletableFuture.completedFuture(null);

    /** Answers are lost on their way back. */
    boolean mute;

    /** What renewals wait for. */
    CompletableFuture<Void> slow = CompletableFuture.completedFuture(null);

    /** Grants that the lock service remembers, oldest first; tests forget them. */
    final Map<LockName, List<Long>> recent = new HashMap<>();

    /** What questions about the past of a lock fail with. */
    @Nullable
    Rejection forgetful;

    /** It goes away after it has said no to a renewal. */
    boolean awayAfterRenewal;

    /** What the answer to the next renewal waits for. */
    CompletableFuture<Void> slowNext = CompletableFuture.completedFuture(null);

    int questions;
    int acquires;
    Duration oldest = Duration.ZERO;

    ScriptedLocks(ManualTime time) {
        this.time = time;
    }

    /** The purpose of the lease of {@code name}; empty when it is free. */
    Optional<String> holder(String name) {
        return Optional.ofNullable(held.get(lock(name))).map(each -> each.by().purpose());
    }

    /** The ttl is over. */
    void expire(String name) {
        held.remove(lock(name));
    }

    /** The holder's process is gone: nothing that it asks arrives any more. */
    void kill(String name) {
        dead.add(Objects.requireNonNull(held.get(lock(name))).lease().session());
    }

    /** Another process takes the lease of {@code name}, whoever has it. */
    void give(String name, String owner, String purpose) {
        LeaseRequest by = new LeaseRequest(
                lock(name),
                new RequestId(new SessionId(9, ++token), 1),
                Duration.ZERO,
                GuardRegistration.TTL,
                owner,
                purpose);
        held.put(by.lock(), new Held(grant(by), by));
        renewedAtNanos.remove(by.lock());
    }

    private static LockName lock(String name) {
        return new LockName("palisade/guards/" + name);
    }

    private LeaseReply.Granted grant(LeaseRequest by) {
        LeaseReply.Granted granted =
                new LeaseReply.Granted(by.lock(), by.id().session(), new FencingToken(++token), new GrantId(7, token));
        recent.computeIfAbsent(by.lock(), lock -> new ArrayList<>()).add(token);
        return granted;
    }

    /** The lock server was started anew, or so much happened that it remembers no grant of {@code name}. */
    void forget(String name) {
        recent.remove(lock(name));
    }

    @Override
    public CompletionStage<List<Long>> recentTokens(LockName lock) {
        questions++;
        if (away) {
            return gone();
        }
        return forgetful != null
                ? CompletableFuture.failedStage(forgetful.asException())
                : CompletableFuture.completedStage(List.copyOf(recent.getOrDefault(lock, List.of())));
    }

    @Override
    public CompletionStage<Long> barrier(LockName lock) {
        return away || barrierFails ? gone() : slowBarrier.thenApply(asked -> ++token);
    }

    @Override
    public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
        return slowIsAlive.thenApply(asked -> true);
    }

    @Override
    public CompletionStage<LeaseReply> tryAcquire(LeaseRequest request) {
        if (dead.contains(request.id().session())) {
            return new CompletableFuture<>();
        }
        if (away) {
            return gone();
        }
        acquires++;
        oldest = request.age().compareTo(oldest) > 0 ? request.age() : oldest;
        LeaseReply reply = replies.computeIfAbsent(request.id(), id -> decide(request));
        return mute ? gone() : CompletableFuture.completedStage(reply);
    }

    private LeaseReply decide(LeaseRequest request) {
        Held before = held.get(request.lock());
        if (before != null) {
            return new LeaseReply.Busy(Optional.of(new LeaseReply.Holder(
                    before.lease().token(), before.by().owner(), before.by().purpose(), Duration.ofSeconds(3))));
        }
        LeaseReply.Granted lease = grant(request);
        held.put(request.lock(), new Held(lease, request));
        renewedAtNanos.put(request.lock(), time.nanos());
        return lease;
    }

    @Override
    public CompletionStage<Void> renew(LeaseReply.Granted lease) {
        if (dead.contains(lease.session())) {
            return new CompletableFuture<>();
        }
        if (away) {
            return gone();
        }
        Held now = held.get(lease.lock());
        if (now == null || !now.lease().equals(lease)) {
            away |= awayAfterRenewal;
            return slowNext.thenCompose(said -> CompletableFuture.failedStage(
                    new Rejection(Reason.LEASE_EXPIRED, "the lease has ended").asException()));
        }
        if (time.nanos() - renewedAtNanos.getOrDefault(lease.lock(), time.nanos())
                > GuardRegistration.TTL.toNanos() / 2) {
            throw new AssertionError("renewed later than half of its ttl");
        }
        renewedAtNanos.put(lease.lock(), time.nanos());
        return slow.copy();
    }

    @Override
    public CompletionStage<Void> release(LeaseReply.Granted lease) {
        Held now = held.get(lease.lock());
        if (now != null && now.lease().equals(lease)) {
            held.remove(lease.lock());
        }
        return CompletableFuture.completedStage(null);
    }

    private static <T> CompletionStage<T> gone() {
        return CompletableFuture.failedStage(
                new Rejection(Reason.STORE_UNAVAILABLE, "the lock server is away").asException());
    }
}
