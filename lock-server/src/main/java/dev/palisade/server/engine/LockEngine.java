package dev.palisade.server.engine;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.BoundedMap;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.Resume;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.explain.GrantExplainer;
import dev.palisade.server.core.explain.GrantExplanation;
import dev.palisade.server.core.explain.LockEvidence;
import dev.palisade.server.store.BoundedConcurrency;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Stands between the transports and the store: fans keep-alives of the {@link Sessions} out into renewals, parks the acquires
 * of callers without a stream, and tells every session what happened to its locks. Decides nothing about a lock itself.
 * Safe to share between threads; never blocks.
 */
public final class LockEngine implements LockStore.Listener {
    private static final Rejection STOPPING = new Rejection(
            Reason.OUTCOME_UNKNOWN,
            "the lock server is stopping and the request keeps its place; ask its successor with the same request id",
            Map.of(Rejection.APPLIED, "unknown"));

    /** Of one session: what others ask does not wait behind all of them. */
    private static final int RENEWALS_AT_A_TIME = 1_024;

    private final LockStore store;
    private final Function<Sequencer, SignedSequencer> signer;
    private final Function<SignedSequencer, Sequencer> verifier;
    private final EngineConfig config;
    private final GrantIds grantIds;
    /** The newest grants that this server saw end. A store may forget an end together with the grant, which must not be reclaimed. */
    private final Set<GrantId> endedGrants =
            Collections.synchronizedSet(Collections.newSetFromMap(new BoundedMap<>(1 << 16)));

    private final Sessions sessions;
    private final EventLog events;
    private final RejectionCounts rejections = new RejectionCounts();
    private final RefusalLog refusals = new RefusalLog();
    private final OutageLogger outage;
    private final Map<LockRequest, PendingUnaryCall> pendingUnary = new ConcurrentHashMap<>();
    private final RetrySpacing retries = new RetrySpacing();
    private final WaitingHellos hellos;
    private final LockUsage usage;
    private final Set<Peer> unflushed = ConcurrentHashMap.newKeySet();
    private volatile Runnable refusedAcquires = () -> {};

    /**
     * @param verifier throws SEQUENCER_INVALID for what {@code signer} did not sign
     * @param serverRandom at least 16 random bytes of this process
     */
    public LockEngine(
            LockStore store,
            Function<Sequencer, SignedSequencer> signer,
            Function<SignedSequencer, Sequencer> verifier,
            EngineConfig config,
            Timer timer,
            EventLog events,
            byte[] serverRandom) {
        this.store = store;
        this.signer = signer;
        this.verifier = verifier;
        this.config = config;
        this.usage = new LockUsage(this::isPending);
        this.sessions = new Sessions(store, config, timer, events, usage);
        this.events = events;
        this.hellos = new WaitingHellos(
                () -> store.standby().filter(StoreFailure::isTakeover).isPresent(), timer);
        this.outage = new OutageLogger(store, timer, events);
        this.grantIds = new GrantIds(serverRandom);
        store.listen(this);
    }

    public EngineConfig config() {
        return config;
    }

    /** The store's time, milliseconds since 1970. */
    public long nowMillis() {
        return store.nowMillis();
    }

    /** How the store does. */
    public StoreStatus store() {
        return store.status();
    }

    /** What operators are told. */
    public EventLog events() {
        return events;
    }

    /** The rejections that clients got. */
    public RejectionCounts rejections() {
        return rejections;
    }

    /** The refusals that guards reported to this server. */
    public RefusalLog refusals() {
        return refusals;
    }

    /** Notifies {@code refused} of each acquire that is refused before it comes to the store, from now on. It must not block. */
    public void onRefusedAcquire(Runnable refused) {
        refusedAcquires = refused;
    }

    /** An acquire was refused before it came to a command. */
    public void acquireRefused() {
        refusedAcquires.run();
    }

    /** A call was rejected before it came to a command: an event, and counted. */
    public void refused(Rejection rejection) {
        rejections.count(rejection);
        events.refused(rejection);
    }

    // ---- sessions ----

    /**
     * Attaches a stream. An older stream of the session is told that it is superseded.
     *
     * @throws dev.palisade.contract.RejectedException SESSION_UNKNOWN when a newer stream is attached, LIMIT_EXCEEDED,
     *     NOT_ACTIVE
     */
    public Session attach(
            SessionId id, long gen, String owner, boolean keepLeasesOnDisconnect, Peer peer, SessionHolder holder) {
        requireActive();
        Session attached = sessions.attach(
                new Session(id, gen, owner, keepLeasesOnDisconnect, peer, holder.principal(), store.nowMillis()),
                holder.sessionsMax());
        if (store.standby().isPresent()) { // Deposed meanwhile, and perhaps before the session was known.
            sessions.forget(attached);
            requireActive();
        }
        return attached;
    }

    /**
     * While this server is about to take over: has the client wait until that is over and it is its turn, for 10 s at most.
     *
     * @param patienceMillis after so long without a sign of life it waits no more; 0 or less: it does not wait at all
     * @param resumes how many leases it will resume
     * @return false: there is nothing to wait for, and {@code hello} is not notified
     */
    public boolean awaitTakeover(long patienceMillis, int resumes, WaitingHello hello) {
        return hellos.await(patienceMillis, resumes, hello);
    }

    /** Whether the store lost data, so that what holders show is needed. */
    public boolean isRecovering() {
        return store.isRecovering();
    }

    /** How long from now on no new lock is granted, because the store lost data; 0: it is not recovering. */
    public long recoveringMillis() {
        return !store.isRecovering()
                ? 0
                : store.status()
                        .epoch()
                        .map(StoreStatus.Epoch::recoveringMillis)
                        .orElse(0L);
    }

    /** Why this server serves no sessions, if another one is active. */
    public Optional<StoreFailure> standby() {
        return store.standby();
    }

    private void requireActive() {
        Optional<StoreFailure> standby = store.standby();
        if (standby.isPresent()) {
            Rejection refused = notActive(standby.get(), "no");
            long millis = retries.takeMillis(store.nowMillis());
            throw (millis == 0 ? refused : refused.with(Rejection.RETRY_AFTER_MILLIS, Long.toString(millis)))
                    .asException();
        }
    }

    /** The stream broke or ended, and why. */
    public void detach(Session session, EndCause cause) {
        sessions.detach(session, cause);
    }

    /**
     * A page of the sessions that have a stream here, or had one within the grace. Costs what the page is long.
     *
     * @param after the page before's {@link SessionPage#nextAfter()}; empty for the first
     * @param sessionsMax 1 or more
     * @throws dev.palisade.contract.RejectedException NOT_ACTIVE of a standby: sessions are those of the active server
     */
    public SessionPage sessions(String after, int sessionsMax) {
        Optional<StoreFailure> standby = store.standby();
        if (standby.isPresent()) {
            throw notActive(standby.get(), "no").asException();
        }
        return sessions.page(after, sessionsMax, store.nowMillis());
    }

    /** Sums over the sessions of this server. Costs as much as there are sessions. */
    public SessionTotals sessionTotals() {
        return sessions.totals();
    }

    /** A frame of the session's client arrived, sent at {@code sentNanos} of the client's own clock. */
    public void frameArrived(Session session, long sentNanos) {
        session.frameArrived(store.nowMillis(), sentNanos);
    }

    /** Renews every lease of the stream. Completes with the grants that are lost; fails when that cannot be told now. */
    public CompletionStage<List<Lost>> keepAlive(Session session) {
        List<Session.Held> held = List.copyOf(session.held().values());
        List<Lost> lost = Collections.synchronizedList(new ArrayList<>());
        AtomicReference<Rejection> unknown = new AtomicReference<>();
        return BoundedConcurrency.forEach(RENEWALS_AT_A_TIME, held, lease -> {
                    GrantId grant = lease.grant().id();
                    if (!session.holds(grant)) {
                        return CompletableFuture.completedFuture(null); // Given up meanwhile.
                    }
                    return renewed(session, lease).thenAccept(answer -> {
                        if (answer instanceof Answer.Refused refused && !isFinal(refused)) {
                            unknown.set(refused.rejection());
                        } else if (answer instanceof Answer.Refused refused
                                && session.holdsNoMore(grant)
                                && !isReleased(refused)) {
                            // The server learned of this end late, or never, because the store was unavailable.
                            sessions.lastFrames().put(grant, session.heardAtMillis());
                            lost.add(Lost.by(refused.rejection(), lease.lock(), grant));
                        }
                    });
                })
                .thenApply(all -> {
                    Rejection why = unknown.get();
                    if (why != null) {
                        // Neither renewed nor lost. No reply says so: the client asks again while the lease lasts.
                        throw why.asException();
                    }
                    return List.copyOf(lost);
                });
    }

    private static boolean isReleased(Answer.Refused refused) {
        return End.RELEASED.name().equals(refused.rejection().metadata().get(Rejection.ENDED));
    }

    /** Whether it says what became of the command. Else the store has failed, and says nothing more of it. */
    public static boolean isFinal(Answer.Refused refused) {
        Reason reason = refused.rejection().reason();
        return switch (reason) {
            case RECOVERING, SUSPECT_PRIMARY, STORE_UNAVAILABLE, NOT_ACTIVE, OUTCOME_UNKNOWN -> false;
            default -> true;
        };
    }

    /** Renews what this stream holds; what the store has forgotten is reclaimed, if it waits for that. */
    private CompletionStage<Answer> renewed(Session session, Session.Held held) {
        return execute(renewal(session, held)).thenCompose(answer -> {
            if (!isNotHolder(answer)) {
                return CompletableFuture.completedFuture(answer);
            }
            Reclaim reclaim = reclaimOf(held, session);
            return execute(reclaim).thenApply(reclaimed -> reclaimed(session, held, reclaim.request(), reclaimed));
        });
    }

    private static Reclaim reclaimOf(Session.Held held, Session session) {
        Grant grant = held.grant();
        return new Reclaim(held.lock(), grant.request().withSessionGen(session.gen()), grant.token());
    }

    private static Renew renewal(Session session, Session.Held held) {
        return new Renew(held.lock(), held.grant().id(), held.grant().token(), session.id());
    }

    private Answer reclaimed(Session session, Session.Held held, Request asked, Answer answer) {
        if (!(answer instanceof Answer.Resumed resumed)) {
            return answer;
        }
        if (!session.holds(asked.grant())) {
            // Given up, or told lost, while it was on its way back.
            var unused = execute(new Abandon(held.lock(), asked.grant(), asked.sessionGen(), EndCause.GIVEN_UP));
        } else if (session.isAbandoned()) {
            sessions.abandon(session, asked.grant(), held.lock());
        }
        return new Answer.Renewed(resumed.grant());
    }

    /**
     * A lease that a keep-alive could not renew.
     *
     * @param end absent: the store has no record of it
     * @param detail who ended it and why, when a person did; else empty
     */
    public record Lost(LockName lock, GrantId grant, Optional<End> end, String detail) {
        /** Ended as the refusal of its renewal says. The push of the end finds it gone and says nothing. */
        static Lost by(Rejection refusal, LockName lock, GrantId grant) {
            String ended = refusal.metadata().getOrDefault(Rejection.ENDED, "");
            return new Lost(
                    lock,
                    grant,
                    Stream.of(End.values())
                            .filter(end -> end.name().equals(ended))
                            .findFirst(),
                    refusal.metadata().getOrDefault(Rejection.DETAIL, ""));
        }
    }

    // ---- commands ----

    /** Runs {@code asks}, all that a frame says: the store may decide it as one. On a thread of the transport. */
    public void together(Runnable asks) {
        store.together(asks);
    }

    /**
     * The checked parameters of an acquire.
     *
     * @param turns how many are to hold the lease one after another; 1 or more
     */
    public record AcquireParams(
            LockName lock,
            RequestId id,
            Mode mode,
            long ttlMillis,
            long waitMillis,
            long lockDelayMillis,
            long lockAtLeastForMillis,
            long ageMillis,
            String owner,
            String purpose,
            int turns) {
        LockRequest named() {
            return new LockRequest(lock, id);
        }
    }

    private boolean isPending(LockRequest request, @Nullable GrantId grant) {
        if (pendingUnary.containsKey(request)) {
            return true;
        }
        Session session = sessions.of(request.id().session());
        return session != null
                && (grant == null
                        ? session.isWaiting(
                                new Session.Waiting(request.lock(), request.id().number()))
                        : session.holds(grant));
    }

    /** Counts a lock that {@code principal} was given or keeps. */
    public void counted(String principal, LockName lock, Grant grant) {
        usage.holds(principal, new LockRequest(lock, grant.request().id()), grant, store.nowMillis());
    }

    /** Principal of a request that holds the lock or waits for it; empty without authentication, and where another server knows it. */
    public String principalOf(LockName lock, RequestId request) {
        Session session = sessions.of(request.session());
        return session == null ? usage.principal(new LockRequest(lock, request)) : session.principal();
    }

    /** Requests of {@code principal} that hold a lock or wait for one, as far as this server knows. */
    public int locksOf(String principal) {
        return usage.locks(principal);
    }

    /** Takes an acquire without a result off the count. A refused repetition stays: what it repeats may go on. */
    private void discount(AcquireParams params, Answer answer, boolean isRepeated) {
        if (answer instanceof Answer.Busy
                || answer instanceof Answer.WaitEnded
                || (answer instanceof Answer.Refused && !isRepeated && !mayHaveRun(answer))) {
            usage.ended(params.named());
        }
    }

    /** Whether the store may have executed the command all the same, now or later. */
    private static boolean mayHaveRun(Answer answer) {
        return answer instanceof Answer.Refused refused && refused.rejection().reason() == Reason.OUTCOME_UNKNOWN;
    }

    /** Acquires for a stream: the answer comes at once, and a waiter is told of its offer later. */
    public CompletionStage<Answer> acquire(Session session, AcquireParams params, LockQuota quota) {
        if (session.size() >= config.locksPerSessionMax()) {
            acquireRefused();
            return CompletableFuture.completedFuture(new Answer.Refused(Limits.exceeded(
                    "locksPerSessionMax",
                    "locksPerSessionMax is " + config.locksPerSessionMax() + "; release some first")));
        }
        boolean isRepeated = usage.counts(params.named());
        Optional<Rejection> excess = usage.enter(params.named(), params.waitMillis() > 0, quota, store.nowMillis());
        if (excess.isPresent()) {
            acquireRefused();
            return CompletableFuture.completedFuture(new Answer.Refused(excess.get()));
        }
        // Known before the store knows: if the stream breaks while the command is on its way, it must still be taken
        // back.
        Session.Waiting request = new Session.Waiting(params.lock(), params.id().number());
        boolean isNew = session.waits(request, params.turns());
        return execute(command(params, session.gen())).thenApply(answer -> {
            discount(params, answer, isRepeated);
            if (answer instanceof Answer.Granted granted) {
                holds(session, params.lock(), granted.grant());
            } else if (answer instanceof Answer.Refused && !isNew) {
                // Only the repetition is refused: what it repeats may go on waiting.
                return answer;
            } else if (!(answer instanceof Answer.Queued) && !mayHaveRun(answer)) {
                session.waitsNoMore(request);
            } else if (session.isAbandoned()) {
                sessions.leave(session, request);
            }
            return answer;
        });
    }

    /**
     * Acquires for a caller without a stream: completes when the wait is over, accepting an offer on its behalf. Whoever
     * calls this also calls {@link #callEnded} or {@link #callBroke}.
     *
     * @param quota of the caller's principal; beyond it the result is a refusal
     * @param caller is notified of the wait, and may lose its right while it waits
     */
    public CompletableFuture<Answer> acquireUnary(AcquireParams params, LockQuota quota, PendingUnaryCaller caller) {
        CompletableFuture<Answer> result = new CompletableFuture<>();
        boolean isRepeated = usage.counts(params.named());
        Optional<Rejection> excess = usage.enter(params.named(), params.waitMillis() > 0, quota, store.nowMillis());
        if (excess.isPresent()) {
            acquireRefused();
            result.complete(new Answer.Refused(excess.get()));
            return result;
        }
        PendingUnaryCall earlier = pendingUnary.put(params.named(), new PendingUnaryCall(result, caller));
        if (earlier != null) {
            earlier.result().cancel(false);
        }
        execute(command(params, 0)).thenAccept(answer -> {
            discount(params, answer, isRepeated);
            if (mayHaveRun(answer)) { // No stream ends it, so it may last for all of its time.
                usage.detached(params.named(), store.nowMillis() + params.waitMillis() + params.ttlMillis());
            }
            if (answer instanceof Answer.Queued) {
                caller.queued();
            } else {
                result.complete(answer);
            }
        });
        return result;
    }

    /** A unary acquire that waits. */
    private record PendingUnaryCall(CompletableFuture<Answer> result, PendingUnaryCaller caller) {}

    /** The caller has its answer. */
    public void callEnded(AcquireParams params, CompletableFuture<Answer> call) {
        var unused = removed(params, call);
    }

    private boolean removed(AcquireParams params, CompletableFuture<Answer> call) {
        PendingUnaryCall now = pendingUnary.get(params.named());
        return now != null && now.result() == call && pendingUnary.remove(params.named(), now);
    }

    /** The caller hung up: takes back what it asked for, unless it has asked again by another call. */
    public void callBroke(AcquireParams params, CompletableFuture<Answer> call) {
        if (removed(params, call) && !sessions.isDraining()) {
            var unused = leave(params.lock(), params.id());
        }
    }

    /** From now on nothing is freed because a stream or a call broke: this server is stopping, and breaks them itself. */
    public void enterDrain() {
        sessions.enterDrain();
    }

    /** Ends the calls that wait; their requests stay in the queue. */
    public void endPendingUnary() {
        for (PendingUnaryCall call : pendingUnary.values()) {
            call.result().complete(new Answer.Refused(STOPPING));
        }
    }

    /** After rights or tokens changed: ends the calls that wait and may not have their lock any more. */
    public void accessChanged() {
        pendingUnary.forEach((request, call) -> {
            Optional<Rejection> denied =
                    call.result().isDone() ? Optional.empty() : call.caller().denied();
            denied.ifPresent(why -> deny(call, request, why));
        });
    }

    /** The refusal first: the news that the request has left would answer the call otherwise. */
    private void deny(PendingUnaryCall call, LockRequest request, Rejection why) {
        call.result().complete(new Answer.Refused(why));
        var unused = leave(request.lock(), request.id());
    }

    /** Takes back what a caller was given or kept, and may not have; its lock-delay follows. */
    public void takeBack(LockName lock, Grant grant, EndCause cause) {
        var unused = execute(new Abandon(lock, grant.id(), grant.request().sessionGen(), cause));
        givenUp(grant.request().id().session(), session -> session.holdsNoMore(grant.id()));
    }

    public CompletionStage<Answer> accept(Session session, LockName lock, GrantId grant, FencingToken token) {
        return execute(new Accept(lock, grant, token, session.id(), session.gen()))
                .thenApply(answer -> {
                    if (answer instanceof Answer.Granted granted) {
                        holds(session, lock, granted.grant());
                    }
                    return answer;
                });
    }

    /** Renews one lease of a stream. */
    public CompletionStage<Answer> renew(Session session, LockName lock, GrantId grant, FencingToken token) {
        return session.held(grant)
                .filter(held -> held.grant().token().equals(token))
                .map(held -> renewed(session, held))
                .orElseGet(() -> execute(new Renew(lock, grant, token, session.id())));
    }

    /**
     * Evidence for a grant that the store has forgotten, beside the grant id: with it the grant can be reclaimed.
     *
     * @param sequencer as it came; nothing of it is believed before it is verified
     */
    public record ReclaimEvidence(
            SignedSequencer sequencer,
            long requestNumber,
            long ttlMillis,
            long lockDelayMillis,
            long lockAtLeastForMillis,
            String owner,
            String purpose) {}

    /** Gives a grant up. One that the store has forgotten, and that a stream here holds, is reclaimed first: then its end is known. */
    public CompletionStage<Answer> release(Release release) {
        return execute(release)
                .thenCompose(answer -> isNotHolder(answer)
                        ? releaseForgotten(release, answer)
                        : CompletableFuture.completedFuture(answer))
                .thenApply(answer -> {
                    if (answer instanceof Answer.Released) {
                        usage.ended(release.grant()); // Before the client hears of it, and asks for the next.
                    }
                    if (isNotHolder(answer)) {
                        givenUp(release.session(), session -> session.holdsNoMore(release.grant()));
                    }
                    return answer;
                });
    }

    private CompletionStage<Answer> releaseForgotten(Release release, Answer notHolder) {
        Session session = sessions.of(release.session());
        Session.Held held =
                session == null ? null : session.held(release.grant()).orElse(null);
        if (session == null || held == null || !held.grant().token().equals(release.token())) {
            return CompletableFuture.completedFuture(notHolder);
        }
        return execute(reclaimOf(held, session)).thenCompose(back -> {
            if (back instanceof Answer.Resumed) {
                return execute(release);
            }
            return CompletableFuture.completedFuture(
                    back instanceof Answer.Refused refused && !isFinal(refused) ? back : notHolder);
        });
    }

    private static boolean isNotHolder(Answer answer) {
        return answer instanceof Answer.Refused refused && refused.rejection().reason() == Reason.NOT_HOLDER;
    }

    /** Gives a request up, whatever became of it. What this server granted it is not reclaimed any more, either. */
    public CompletionStage<Answer> leave(LockName lock, RequestId request) {
        return execute(new Leave(lock, request, Leave.BY_CLIENT)).thenApply(answer -> {
            if (answer instanceof Answer.Left) {
                usage.ended(new LockRequest(lock, request));
                givenUp(request.session(), session -> {
                    session.waitsNoMore(new Session.Waiting(lock, request.number()));
                    session.holdsNoMore(grantIds.of(new LockRequest(lock, request)));
                });
            }
            return answer;
        });
    }

    private void givenUp(SessionId id, Consumer<Session> what) {
        Session session = sessions.of(id);
        if (session != null) {
            what.accept(session);
        }
    }

    /** Takes a grant over to a stream. */
    public CompletionStage<Answer> resume(
            Session session, LockName lock, GrantId grant, FencingToken token, Optional<ReclaimEvidence> shown) {
        return resume(new Resume(lock, grant, token, session.id(), session.gen()), shown)
                .thenApply(answer -> resumed(session, lock, answer));
    }

    /** Moves a grant that the store knows to a stream, without evidence for a store that lost data. */
    public CompletionStage<Answer> resume(Session session, Resume resume) {
        return execute(resume).thenApply(answer -> resumed(session, resume.lock(), answer));
    }

    private Answer resumed(Session session, LockName lock, Answer answer) {
        if (answer instanceof Answer.Resumed resumed) {
            holds(session, lock, resumed.grant());
        }
        return answer;
    }

    /**
     * Takes a grant over for a caller without a stream. What is shown is verified only where the store may not know the grant: first while
     * it has lost data, so that it is not done in the store's turn.
     */
    public CompletionStage<Answer> resume(Resume resume, Optional<ReclaimEvidence> shown) {
        if (store.isRecovering()) {
            return execute(shown.flatMap(holder -> reclaim(resume, holder)).orElse(resume));
        }
        return execute(resume).thenCompose(answer -> {
            Optional<Command> reclaim =
                    isNotHolder(answer) ? shown.flatMap(holder -> reclaim(resume, holder)) : Optional.empty();
            return reclaim.map(this::execute).orElseGet(() -> CompletableFuture.completedFuture(answer));
        });
    }

    /**
     * Empty when what is shown is not ours, not of this grant or session, or of a grant whose end was told here: then it says nothing.
     */
    private Optional<Command> reclaim(Resume resume, ReclaimEvidence shown) {
        Sequencer named;
        try {
            named = verifier.apply(shown.sequencer());
        } catch (RejectedException e) {
            events.refused(e.rejection());
            return Optional.empty();
        }
        if (!named.lock().equals(resume.lock())
                || !named.grant().equals(resume.grant())
                || !named.token().equals(resume.token())) {
            return Optional.empty();
        }
        RequestId request = new RequestId(resume.session(), shown.requestNumber());
        if (!GrantIds.isOf(named.grant(), new LockRequest(resume.lock(), request))
                || endedGrants.contains(named.grant())) {
            return Optional.empty();
        }
        Request asked = new Request(
                request,
                resume.sessionGen(),
                named.grant(),
                named.mode(),
                shown.ttlMillis(),
                shown.lockDelayMillis(),
                shown.lockAtLeastForMillis(),
                shown.owner(),
                shown.purpose());
        return Optional.of(new Reclaim(resume.lock(), asked, named.token()));
    }

    /** A grant that arrives after its stream was given up has no holder. */
    private void holds(Session session, LockName lock, Grant grant) {
        session.holds(grant, lock);
        if (session.isAbandoned()) {
            // Only this one: everything else of a stream with many calls in flight was given up before.
            sessions.abandon(session, grant.id(), lock);
        }
    }

    /** Any command that changes nothing but the lock. A store's failure is an answer here, so that callers need not know stores. */
    public CompletionStage<Answer> execute(Command command) {
        return store.execute(command).handle((answer, failure) -> {
            if (failure != null) {
                return refused(failure);
            }
            if (answer instanceof Answer.Refused refused && refused.rejection().reason() == Reason.STORE_UNAVAILABLE) {
                outage.refused(refused.rejection().message());
            } else {
                outage.answered();
            }
            return answer;
        });
    }

    /**
     * The past of a lock, oldest first.
     *
     * @return fails with RejectedException STORE_UNAVAILABLE or OUTCOME_UNKNOWN
     */
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return looked(store.history(lock));
    }

    /**
     * A page of the locks in use whose names begin with {@code prefix}.
     *
     * @param after the page before's {@link LockPage#nextAfter()}; empty for the first
     * @return fails with RejectedException STORE_UNAVAILABLE or OUTCOME_UNKNOWN
     */
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return looked(store.list(prefix, after, locksMax));
    }

    /**
     * Explains one grant of a lock.
     *
     * @param token of the grant, or of any of its turns; 0: the token that guards refused last, else that of the newest grant
     * @return fails with RejectedException STORE_UNAVAILABLE or OUTCOME_UNKNOWN
     */
    public CompletionStage<GrantExplanation> explain(LockName lock, long token) {
        return execute(new Describe(lock)).thenCombine(history(lock), (answer, past) -> {
            if (answer instanceof Answer.Described described) {
                return GrantExplainer.explain(
                        new LockEvidence(
                                described.state(),
                                described.nowMillis(),
                                past,
                                store.status().epoch(),
                                refusals.of(lock),
                                grant -> Optional.ofNullable(
                                        sessions.lastFrames().get(grant)),
                                outage.newest()),
                        token);
            } else if (answer instanceof Answer.Refused refused) {
                throw refused.rejection().asException();
            }
            throw new IllegalStateException("no answer to a describe: " + answer);
        });
    }

    /**
     * Explains the grant that a sequencer names.
     *
     * @throws dev.palisade.contract.RejectedException SEQUENCER_INVALID when it is not one of this lock service, MALFORMED_REQUEST
     *     when it is of another lock
     */
    public CompletionStage<GrantExplanation> explain(LockName lock, SignedSequencer signed) {
        Sequencer named = verifier.apply(signed);
        if (!named.lock().equals(lock)) {
            throw RejectedException.malformed("the sequencer is genuine, but of lock '" + named.lock() + "', not of '"
                    + lock + "'; name that lock");
        }
        return explain(lock, named.token().value());
    }

    private <T> CompletionStage<T> looked(CompletionStage<T> look) {
        return look.exceptionally(failure -> {
            throw refused(failure).rejection().asException();
        });
    }

    /** The signed proof of one turn of a grant, made now; 0 is its first. */
    public SignedSequencer sequencer(LockName lock, Grant grant, int turn) {
        return signer.apply(new Sequencer(
                config.issuer(),
                lock,
                grant.mode(),
                grant.token().turn(turn),
                grant.id().turn(turn),
                store.nowMillis()));
    }

    /**
     * Whether a sequencer names a lease that is alive now. Which of its turns it is at, only its client knows.
     *
     * @throws dev.palisade.contract.RejectedException SEQUENCER_INVALID when it is not one of this lock service
     */
    public CompletionStage<Answer> checkSequencer(SignedSequencer signed) {
        Sequencer named = verifier.apply(signed);
        int turn = named.grant().turn();
        if (endedGrants.contains(named.grant().turn(0))) {
            return CompletableFuture.completedFuture(new Answer.Checked(false));
        }
        return execute(new CheckSequencer(
                named.lock(), named.grant().turn(0), named.token().turn(-turn)));
    }

    private Acquire command(AcquireParams params, long sessionGen) {
        Request request = new Request(
                params.id(),
                sessionGen,
                grantIds.of(params.named()),
                params.mode(),
                params.ttlMillis(),
                params.lockDelayMillis(),
                params.lockAtLeastForMillis(),
                params.owner(),
                params.purpose());
        return new Acquire(params.lock(), request, params.waitMillis(), params.ageMillis(), Long.MAX_VALUE);
    }

    private Answer.Refused refused(Throwable failure) {
        Throwable cause = failure instanceof java.util.concurrent.CompletionException && failure.getCause() != null
                ? failure.getCause()
                : failure;
        if (cause instanceof StoreFailure standby && standby.kind() == StoreFailure.Kind.NOT_ACTIVE) {
            return new Answer.Refused(notActive(standby, "no"));
        }
        if (!sessions.isDraining()) { // A server that stops says so elsewhere.
            outage.refused(String.valueOf(cause.getMessage()));
        }
        boolean unknown = !(cause instanceof StoreFailure known) || known.isOutcomeUnknown();
        return new Answer.Refused(new Rejection(
                unknown ? Reason.OUTCOME_UNKNOWN : Reason.STORE_UNAVAILABLE,
                String.valueOf(cause.getMessage()),
                Map.of(Rejection.APPLIED, unknown ? "unknown" : "no")));
    }

    private static Rejection notActive(StoreFailure standby, String applied) {
        Map<String, String> metadata = new HashMap<>();
        metadata.put(Rejection.APPLIED, applied);
        if (!standby.activeAddress().isEmpty()) {
            metadata.put(Rejection.ACTIVE, standby.activeAddress());
        }
        return new Rejection(
                Reason.NOT_ACTIVE, standby.getMessage() + "; give clients the addresses of all lock servers", metadata);
    }

    // ---- what happened, from the store's thread ----

    @Override
    public void deposed(StoreFailure why) {
        sessions.forgetAll(notActive(why, "no"));
        for (PendingUnaryCall call : pendingUnary.values()) {
            call.result().complete(new Answer.Refused(notActive(why, "unknown")));
        }
    }

    @Override
    public void takeoverEnded() {
        hellos.over();
    }

    @Override
    public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
        for (LockEvent event : events) {
            if (event instanceof LockEvent.Offered offered) {
                offered(next, offered, decidedAtMillis);
            } else if (event instanceof LockEvent.Ended ended) {
                ended(next.name(), ended);
            } else if (event instanceof LockEvent.ReleaseRequested asked) {
                releaseRequested(next.name(), asked);
            }
        }
    }

    private void offered(LockState next, LockEvent.Offered offered, long decidedAtMillis) {
        LockRequest request = new LockRequest(next.name(), offered.request());
        PendingUnaryCall waiting = pendingUnary.get(request);
        Grant promised = next.promised(offered.request()).orElse(null);
        if (promised == null) {
            return; // Taken back in the same step.
        }
        if (waiting != null && !waiting.result().isDone()) {
            Optional<Rejection> denied = waiting.caller().denied();
            if (denied.isPresent()) {
                deny(waiting, request, denied.get());
                return;
            }
            waiting.caller().offered(promised.token());
            execute(new Accept(
                            next.name(),
                            promised.id(),
                            promised.token(),
                            offered.request().session(),
                            0))
                    .thenAccept(answer -> {
                        if (!(answer instanceof Answer.Queued)) {
                            waiting.result().complete(answer);
                        }
                    });
            return;
        }
        Session session = sessions.of(offered.request().session());
        if (session != null && session.isConnected()) {
            session.peer()
                    .offered(
                            next.name(),
                            promised,
                            session.turns(new Session.Waiting(
                                    next.name(), offered.request().number())),
                            promised.expiresAtMillis() - decidedAtMillis,
                            session.sentBefore(decidedAtMillis));
            unflushed.add(session.peer());
        }
    }

    /** Notifies holders on streams. A holder that renews by unary calls, or is away, cannot be notified. */
    private void releaseRequested(LockName lock, LockEvent.ReleaseRequested asked) {
        events.tell(
                "release_requested",
                "lock",
                lock,
                "grant",
                asked.grant(),
                "session",
                asked.request().session().shortened(),
                "by",
                asked.by(),
                "why",
                asked.why());
        Session session = sessions.of(asked.request().session());
        if (session != null && session.isConnected() && session.holds(asked.grant())) {
            session.peer().releaseRequested(lock, asked.grant(), asked.by(), asked.why());
            unflushed.add(session.peer());
        }
    }

    private void ended(LockName lock, LockEvent.Ended ended) {
        RequestId request = ended.tombstone().request();
        End end = ended.tombstone().end();
        note(lock, ended.tombstone());
        usage.ended(new LockRequest(lock, request));
        if (store.mayLosePast() && ended.tombstone().token() != 0) {
            endedGrants.add(ended.tombstone().grant());
        }
        PendingUnaryCall waiting = pendingUnary.get(new LockRequest(lock, request));
        if (waiting != null && end != End.BUSY) { // A failed try has a fuller answer, which this must not overtake.
            // Of a grant's end a call hears that was sent again before this news came.
            waiting.result().complete(ended.tombstone().answer(lock));
        }
        Session session = sessions.of(request.session());
        if (session == null) {
            return;
        }
        session.waitsNoMore(new Session.Waiting(lock, request.number()));
        boolean held = session.holdsNoMore(ended.tombstone().grant());
        if (held && end == End.EXPIRED) {
            sessions.lastFrames().put(ended.tombstone().grant(), session.heardAtMillis());
        }
        if (!session.isConnected()) {
            return;
        }
        switch (end) {
            case EXPIRED, ABANDONED, FORCE_RELEASED -> {
                if (held) {
                    session.peer()
                            .lost(
                                    lock,
                                    ended.tombstone().grant(),
                                    end,
                                    ended.tombstone().detail());
                    unflushed.add(session.peer());
                }
            }
            case TIMED_OUT, DROPPED -> {
                session.peer().waitEnded(lock, request.number(), end);
                unflushed.add(session.peer());
            }
            case RELEASED, LEFT, BUSY -> {
                // The client asked for it and has its answer.
            }
        }
    }

    /**
     * Why the lease was not renewed, as far as this server knows. After an outage the store extends leases by itself: if the client sent
     * nothing since, it did not renew this one either, and may have counted it as lost by then.
     */
    private void addExpiry(List<Object> pairs, Session session, Tombstone ended) {
        Optional<Session.Held> held = session.held(ended.grant());
        long heard = held.isPresent()
                ? session.heardAtMillis()
                : sessions.lastFrames().getOrDefault(ended.grant(), session.heardAtMillis());
        long began = held.map(
                        lease -> ended.endedAtMillis() - lease.grant().request().ttlMillis())
                .orElse(heard);
        long from = Math.min(began, heard);
        boolean inOutage = outage.newest().stream().anyMatch(each -> each.overlaps(from, ended.endedAtMillis()));
        Collections.addAll(
                pairs,
                "cause",
                inOutage ? "STORE_OUTAGE" : "NOT_RENEWED",
                "silent_ms",
                Math.max(0, store.nowMillis() - session.heardAtMillis()));
    }

    private void note(LockName lock, Tombstone ended) {
        boolean forced = ended.end() == End.FORCE_RELEASED;
        if (!forced && ended.end() != End.EXPIRED && ended.end() != End.ABANDONED) {
            return; // Its client asked for it; the history has it.
        }
        String event = "lease_" + ended.end().name().toLowerCase(Locale.ROOT);
        List<Object> pairs = new ArrayList<>(List.of(
                "lock", lock,
                "token", ended.token(),
                "grant", ended.grant(),
                "session", ended.request().session().shortened(),
                "detail", ended.detail()));
        Session session = sessions.of(ended.request().session());
        if (session != null) {
            Collections.addAll(pairs, "owner", session.owner());
        }
        String principal = principalOf(lock, ended.request());
        if (!principal.isEmpty()) {
            Collections.addAll(pairs, "principal", principal);
        }
        if (session != null && ended.end() == End.EXPIRED) {
            addExpiry(pairs, session, ended);
        }
        EndCause.of(ended.end(), ended.detail()).ifPresent(cause -> Collections.addAll(pairs, "cause", cause));
        if (forced) {
            events.tellAlways(event, pairs.toArray());
        } else {
            events.tell(event, pairs.toArray());
        }
    }

    @Override
    public void told() {
        for (Iterator<Peer> peers = unflushed.iterator(); peers.hasNext(); ) {
            Peer peer = peers.next();
            peers.remove();
            peer.flush();
        }
    }

    /** A reply was gathered for {@code peer}; it goes out with everything else of this turn. */
    public void flushLater(Peer peer) {
        unflushed.add(peer);
    }
}
