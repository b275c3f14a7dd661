package dev.palisade.server.engine;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.BoundedMap;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.Request;
import dev.palisade.server.store.BoundedConcurrency;
import dev.palisade.server.store.LockStore;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of this server: those with a stream, and those whose stream broke and that have until the end of the grace to
 * come back; then it frees what they had. It never decides whether a lease was abandoned or taken over by a newer
 * stream: the lock record does. Safe to share between threads; never blocks.
 */
final class Sessions {
    /** Of one stream: what others ask does not wait behind all of them. */
    static final int FREED_AT_A_TIME = 500;

    private static final CompletionStage<Answer> KEPT = CompletableFuture.completedStage(new Answer.Abandoned(false));

    private final LockStore store;
    private final EngineConfig config;
    private final Timer timer;
    private final EventLog events;
    private final LockUsage usage;
    /** When the last frame before a lease's end arrived, in store time; of the newest ends. Only explanations use it. */
    private final Map<GrantId, Long> lastFrames = Collections.synchronizedMap(new BoundedMap<>(10_000));

    private final Map<SessionId, Session> newest = new ConcurrentHashMap<>();
    /** The same by fingerprint, so that a page can begin anywhere without a session id. Changed with {@link #newest}. */
    private final ConcurrentNavigableMap<String, Session> inOrder = new ConcurrentSkipListMap<>();

    private final Map<String, Integer> ofPrincipal = new ConcurrentHashMap<>();

    private volatile boolean draining;
    /** Counts how often this server was deposed: what it still had to free then, another server decides. */
    private final AtomicLong tenure = new AtomicLong();

    Sessions(LockStore store, EngineConfig config, Timer timer, EventLog events, LockUsage usage) {
        this.usage = usage;
        this.store = store;
        this.config = config;
        this.timer = timer;
        this.events = events;
    }

    /** @throws dev.palisade.contract.RejectedException SESSION_UNKNOWN when a newer stream is attached, LIMIT_EXCEEDED */
    Session attach(Session attached, int ofPrincipalMax) {
        if (newest.size() >= config.sessionsMax() && !newest.containsKey(attached.id())) {
            throw Limits.exceeded(
                            "sessionsMax",
                            "sessionsMax is " + config.sessionsMax() + "; close idle clients or use another server")
                    .asException();
        }
        List<Session> older = new ArrayList<>(1);
        Session now = newest.compute(attached.id(), (same, current) -> {
            if (current == null) {
                count(attached.principal(), ofPrincipalMax);
            } else if (current.isConnected()) {
                if (current.gen() >= attached.gen()) {
                    return current;
                }
                older.add(current);
            }
            inOrder.put(attached.fingerprint(), attached);
            return attached;
        });
        if (now != attached) {
            throw new Rejection(
                            Reason.SESSION_UNKNOWN,
                            "stream " + attached.gen() + " of this session is not newer than stream " + now.gen()
                                    + "; count session_gen up on every reconnect")
                    .asException();
        }
        // Without counts: its client brings back its leases and places only now.
        tell(attached.gen() == 1 ? "session_opened" : "session_resumed", attached, "generation", attached.gen());
        for (Session session : older) {
            session.endsBy(EndCause.NOT_RESUMED);
            session.peer().superseded();
            abandonAfterGrace(session);
        }
        return attached;
    }

    /** One more, unless it is too many. */
    private void count(String principal, int max) {
        ofPrincipal.compute(principal, (same, sessions) -> {
            int now = sessions == null ? 0 : sessions;
            if (now >= max) {
                throw Limits.exceeded(
                                "sessions",
                                principal + " has " + now
                                        + " sessions, and may have no more; close idle clients, or give"
                                        + " it more in the policy: limit " + principal + " sessions=NUMBER")
                        .asException();
            }
            return now + 1;
        });
    }

    /** The stream broke or ended. One that had nothing is forgotten at once: there is nothing to come back for. */
    void detach(Session session, EndCause cause) {
        boolean[] broke = {false};
        newest.computeIfPresent(session.id(), (same, current) -> {
            if (current != session || !session.isConnected()) {
                return current;
            }
            broke[0] = true;
            session.endsBy(cause);
            session.markDisconnected();
            return session.size() == 0 ? forgotten(session) : session;
        });
        if (broke[0] && !draining) {
            SessionPage.Listed now = session.listed();
            tell(
                    session.size() == 0 ? "session_closed" : "session_broken",
                    session,
                    "leases",
                    now.leases(),
                    "waiting",
                    now.waiting(),
                    "grace_ms",
                    config.graceMillis(),
                    "cause",
                    session.endCause());
        }
        if (broke[0]) {
            abandonAfterGrace(session);
        }
    }

    private @Nullable Session forgotten(Session session) {
        inOrder.remove(session.fingerprint(), session);
        ofPrincipal.computeIfPresent(session.principal(), (same, sessions) -> sessions == 1 ? null : sessions - 1);
        return null;
    }

    /** The session's newest stream, connected or not; null when it has none here. */
    @Nullable
    Session of(SessionId id) {
        return newest.get(id);
    }

    /** When the last frame of an ended lease's stream arrived, milliseconds of the store's time. */
    Map<GrantId, Long> lastFrames() {
        return lastFrames;
    }

    SessionPage page(String after, int sessionsMax, long nowMillis) {
        List<SessionPage.Listed> listed = new ArrayList<>();
        String last = "";
        for (Session session : inOrder.tailMap(after, false).values()) {
            if (listed.size() == sessionsMax) {
                return new SessionPage(listed, last, nowMillis);
            }
            listed.add(session.listed());
            last = session.fingerprint();
        }
        return new SessionPage(listed, "", nowMillis);
    }

    SessionTotals totals() {
        int connected = 0;
        int inGrace = 0;
        long leases = 0;
        long waiting = 0;
        for (Session session : newest.values()) {
            SessionPage.Listed listed = session.listed();
            if (listed.connected()) {
                connected++;
            } else {
                inGrace++;
            }
            leases += listed.leases();
            waiting += listed.waiting();
        }
        return new SessionTotals(connected, inGrace, leases, waiting);
    }

    /** Frees what the stream had unless a newer one has taken it over by then: the lock record decides which came first. */
    private void abandonAfterGrace(Session session) {
        long graceEnds = store.nowMillis() + config.graceMillis();
        session.waiting()
                .forEach(waiting -> usage.detached(
                        new LockRequest(waiting.lock(), new RequestId(session.id(), waiting.requestNumber())),
                        graceEnds));
        session.held().values().forEach(held -> {
            Request request = held.grant().request();
            usage.detached(new LockRequest(held.lock(), request.id()), graceEnds + request.ttlMillis());
        });
        long during = tenure.get();
        timer.after(config.graceMillis(), () -> {
            if (tenure.get() != during) {
                return;
            }
            newest.computeIfPresent(session.id(), (same, current) -> current == session ? forgotten(session) : current);
            abandon(session);
        });
    }

    /** Ends all streams, and discards what they had: another server has it in its log. */
    void forgetAll(Rejection why) {
        tenure.incrementAndGet();
        for (Session session : List.copyOf(newest.values())) {
            forget(session);
            session.peer().deposed(why);
        }
        usage.forgetAll();
    }

    /** Discards a session; nothing of it is freed here. */
    void forget(Session session) {
        newest.computeIfPresent(session.id(), (same, current) -> {
            if (current != session) {
                return current;
            }
            session.markDisconnected();
            return forgotten(session);
        });
    }

    /** From now on nothing is freed because a stream or a call broke: this server is stopping, and breaks them itself. */
    void enterDrain() {
        draining = true;
    }

    boolean isDraining() {
        return draining;
    }

    /** Frees what the stream has, now. */
    void abandon(Session session) {
        if (draining) {
            return;
        }
        session.markAbandoned();
        long during = tenure.get();
        List<Session.Waiting> waiting = session.waiting();
        AtomicInteger left = new AtomicInteger();
        AtomicInteger ended = new AtomicInteger();
        var unused = BoundedConcurrency.forEach(
                        FREED_AT_A_TIME,
                        waiting,
                        each -> leave(session, each, during).thenAccept(answer -> count(answer, left)))
                .thenCompose(all -> BoundedConcurrency.forEach(
                        FREED_AT_A_TIME,
                        List.copyOf(session.held().values()),
                        held -> abandon(session, held.grant().id(), held.lock(), during)
                                .thenAccept(answer -> count(answer, ended))))
                .thenAccept(all -> {
                    if (left.get() + ended.get() > 0) {
                        tell(
                                "session_abandoned",
                                session,
                                "leases",
                                ended.get(),
                                "waiting",
                                left.get(),
                                "keeps_leases",
                                session.keepsLeasesOnDisconnect(),
                                "cause",
                                session.endCause());
                    }
                });
    }

    /** What a newer stream has taken over, or its client wants kept, was not freed. */
    private static void count(Answer answer, AtomicInteger freed) {
        if ((answer instanceof Answer.Left waited && waited.wasWaiting())
                || (answer instanceof Answer.Abandoned abandoned && abandoned.ended())) {
            freed.incrementAndGet();
        }
    }

    /** Frees one place in a queue: also one that the stream got when the rest was freed already. */
    void leave(Session session, Session.Waiting waiting) {
        var unused = leave(session, waiting, tenure.get());
    }

    private CompletionStage<Answer> leave(Session session, Session.Waiting waiting, long during) {
        RequestId request = new RequestId(session.id(), waiting.requestNumber());
        return draining
                ? KEPT
                : insist(session, new Leave(waiting.lock(), request, session.gen(), session.endCause()), during);
    }

    /** Frees one lease, unless its client wants leases kept: also one that the stream got when the rest was freed already. */
    void abandon(Session session, GrantId grant, LockName lock) {
        var unused = abandon(session, grant, lock, tenure.get());
    }

    private CompletionStage<Answer> abandon(Session session, GrantId grant, LockName lock, long during) {
        if (draining || session.keepsLeasesOnDisconnect()) {
            return KEPT;
        }
        lastFrames.put(grant, session.heardAtMillis());
        return insist(session, new Abandon(lock, grant, session.gen(), session.endCause()), during);
    }

    private void tell(String event, Session session, Object... more) {
        List<Object> pairs = new ArrayList<>(List.of(
                "session", session.id().shortened(), "owner", session.listed().owner()));
        if (!session.principal().isEmpty()) {
            Collections.addAll(pairs, "principal", session.principal());
        }
        Collections.addAll(pairs, more);
        events.tell(event, pairs.toArray());
    }

    /** A grant that was not ended is of a newer stream, perhaps at another server. */
    private Answer answered(Command command, Answer answer) {
        if (command instanceof Abandon abandon && answer instanceof Answer.Abandoned abandoned && !abandoned.ended()) {
            usage.moved(abandon.grant());
        }
        return answer;
    }

    /** This is the only notice: a dead waiter that stays in the queue delays all behind it by two offers. */
    private CompletionStage<Answer> insist(Session session, Command command, long during) {
        if (tenure.get() != during) {
            return KEPT;
        }
        return store.execute(command)
                .handle((answer, failure) -> failure == null && !(answer instanceof Answer.Refused)
                        ? answered(command, answer)
                        : again(session, command, during));
    }

    /** The store is away, or decides nothing of this kind now. */
    private Answer again(Session session, Command command, long during) {
        Session newer = newest.get(session.id());
        if (newer != null && newer != session && newer.isConnected()) {
            return new Answer.Abandoned(false); // Its client is back, and resumes what it holds.
        }
        timer.after(Math.max(1_000, config.graceMillis()), () -> {
            var unused = insist(session, command, during);
        });
        return new Answer.Abandoned(true); // Sooner or later.
    }
}
