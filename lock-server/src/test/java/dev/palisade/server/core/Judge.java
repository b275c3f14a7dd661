package dev.palisade.server.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Follows one lock from outside and says of every step whether it was allowed. It keeps a model of its own (who holds, who
 * was offered, who waits, what has ended), moves it by the events a step told, and judges three things: that each event was
 * called for by the command or by time, that the state is what the events make of it, and that the answer is the one the
 * model gives. It never calls the machine.
 */
final class Judge {
    enum Status {
        WAITING,
        OFFERED,
        HELD,
        ENDED
    }

    /** One request as the model knows it. */
    static final class Known {
        final Request asked;
        Status status;
        long gen;
        long token;
        long untilMillis;
        long waitUntilMillis;
        long aliveUntilMillis;
        int lapses;
        boolean stepsBack;
        long arrival;
        End end = End.BUSY;
        long endedAtMillis;
        long endNumber;
        /** 0: it ended without a token, whatever it was offered before. */
        long endToken;

        Known(Request asked, Status status) {
            this.asked = asked;
            this.status = status;
            this.gen = asked.sessionGen();
        }
    }

    private final Limits limits;
    private long forgottenAtFirst;
    private final Map<RequestId, Known> known = new LinkedHashMap<>();
    private final Map<GrantId, Known> byGrant = new HashMap<>();
    private final List<Known> queue = new ArrayList<>();
    private final Set<RequestId> leasedEver = new HashSet<>();
    private long lockDelayUntilMillis;
    private long minimumHoldUntilMillis;
    private long lastToken;
    private long latestMillis;
    private long arrivals;
    /** Counted by kind: failed tries do not displace other ends. */
    private final Map<Boolean, Long> endsOfTries = new HashMap<>();

    private long steps;
    private LockState replayed;
    private LockState durable;

    // Of the step being judged.
    private int heardAtPosition;
    private List<Known> lapsedNow = List.of();
    private Set<RequestId> askedNow = Set.of();
    private int forcedNow;
    private boolean raisedNow;
    private boolean recovering;

    Judge(LockState unused, Limits limits, long lastToken) {
        this.replayed = unused;
        this.forgottenAtFirst = unused.forgottenUntilMillis();
        this.durable = unused;
        this.limits = limits;
        this.lastToken = lastToken;
    }

    /** Judges one step. Fails with what was wrong. */
    void judge(Command command, long now, long recoveringUntil, Decision decision) {
        recovering = now < recoveringUntil;
        latestMillis = Math.max(latestMillis, now);
        heardAtPosition = 0;
        lapsedNow = new ArrayList<>();
        askedNow = new HashSet<>();
        forcedNow = 0;
        Optional<Known> subject = subject(command);
        Optional<Status> was = subject.map(k -> k.status);
        for (LockEvent event : decision.events()) {
            happened(event, command, now);
            replayed = event.applyTo(replayed);
            if (event.durable()) {
                durable = event.applyTo(durable);
            }
        }
        raisedNow = decision.answer() instanceof Answer.Raised;
        if (decision.answer() instanceof Answer.Raised raised) {
            assertThat(command).isInstanceOf(Barrier.class);
            minted(raised.barrier());
        }
        assertThat(decision.next()).as("the state is its events").isEqualTo(replayed);
        assertThat(decision.lastToken()).as("last token").isEqualTo(lastToken);
        holdsAlways(decision.next(), now, decision.events().isEmpty());
        answered(command, decision, now, was);
    }

    /** Another lock of the domain was granted. */
    void mintedElsewhere(long token) {
        lastToken = token;
    }

    /** The process was killed and came back: only what was durable is left. */
    LockState restart(long now) {
        latestMillis = Math.max(latestMillis, now);
        durable = durable.restarted(now);
        replayed = durable;
        known.values().removeIf(k -> k.status == Status.ENDED && k.end == End.BUSY);
        for (Known k : known.values()) {
            switch (k.status) {
                case HELD -> k.untilMillis = now + k.asked.ttlMillis();
                case OFFERED -> {
                    k.untilMillis = now + k.asked.ttlMillis();
                    k.aliveUntilMillis = k.untilMillis;
                }
                case WAITING -> k.aliveUntilMillis = now + k.asked.ttlMillis();
                case ENDED -> {}
            }
        }
        return replayed;
    }

    /** The store fell back to what it had been some time ago: all that came after is lost, and nothing is as it was told. */
    LockState fellBack(LockState before, long now) {
        Map<RequestId, Known> lost = new HashMap<>(known);
        latestMillis = Math.max(latestMillis, now);
        known.clear();
        byGrant.clear();
        queue.clear();
        leasedEver.clear();
        endsOfTries.clear();
        replayed = before.restarted(now);
        durable = new LockState(
                replayed.name(),
                replayed.holders(),
                replayed.offers(),
                replayed.waiters(),
                Tombstones.of(replayed.tombstones().stream()
                        .filter(t -> t.end() != End.BUSY)
                        .toList()),
                replayed.lockDelayUntilMillis(),
                replayed.minimumHoldUntilMillis(),
                replayed.forgottenUntilMillis());
        forgottenAtFirst = replayed.forgottenUntilMillis();
        lockDelayUntilMillis = replayed.lockDelayUntilMillis();
        minimumHoldUntilMillis = replayed.minimumHoldUntilMillis();
        for (Tombstone end : replayed.tombstones()) {
            Known k = stillKnown(Objects.requireNonNull(lost.get(end.request())).asked, Status.ENDED, lost);
            k.token = end.token();
            k.endToken = end.token();
            k.end = end.end();
            k.endedAtMillis = end.endedAtMillis();
            k.endNumber = endsOfTries.merge(k.end == End.BUSY, 1L, Long::sum);
        }
        for (Grant held : replayed.holders()) {
            Known k = stillKnown(held.request(), Status.HELD, lost);
            k.token = held.token().value();
            k.untilMillis = held.expiresAtMillis();
            leasedEver.add(k.asked.id());
        }
        for (Offer offer : replayed.offers()) {
            Known k = stillWaits(offer.waiter(), Status.OFFERED, lost);
            k.token = offer.token().value();
            k.untilMillis = offer.lapsesAtMillis();
        }
        for (Waiter waiter : replayed.waiters()) {
            queue.add(stillWaits(waiter, Status.WAITING, lost));
        }
        return replayed;
    }

    private Known stillWaits(Waiter waiter, Status status, Map<RequestId, Known> lost) {
        Known k = stillKnown(waiter.request(), status, lost);
        k.waitUntilMillis = waiter.waitUntilMillis();
        k.aliveUntilMillis = waiter.aliveUntilMillis();
        k.lapses = waiter.lapse() == Waiter.Lapse.NONE ? 0 : 1;
        k.stepsBack = waiter.lapse() == Waiter.Lapse.STEPS_BACK;
        return k;
    }

    private Known stillKnown(Request asked, Status status, Map<RequestId, Known> lost) {
        Known k = add(asked, status);
        k.arrival = Objects.requireNonNull(lost.get(asked.id())).arrival;
        return k;
    }

    Collection<Known> known() {
        return known.values();
    }

    List<Known> known(Status status) {
        return known.values().stream().filter(k -> k.status == status).collect(Collectors.toList());
    }

    // ---- what happened: each event must have been called for ----

    private void happened(LockEvent event, Command command, long now) {
        if (event instanceof LockEvent.Granted granted) {
            granted(granted.grant(), command, now);
        } else if (event instanceof LockEvent.Queued queued) {
            queued(queued.waiter(), command, now);
        } else if (event instanceof LockEvent.Offered offered) {
            offered(offered, now);
        } else if (event instanceof LockEvent.Accepted accepted) {
            accepted(accepted, command, now);
        } else if (event instanceof LockEvent.Lapsed lapsed) {
            lapsed(lapsed, now);
        } else if (event instanceof LockEvent.Withdrawn withdrawn) {
            withdrawn(withdrawn);
        } else if (event instanceof LockEvent.Reclaimed reclaimed) {
            reclaimed(reclaimed.grant(), command, now);
        } else if (event instanceof LockEvent.Ended ended) {
            ended(ended, command, now);
        } else if (event instanceof LockEvent.Resumed resumed) {
            Known k = ofGrant(resumed.grant());
            long gen = generation(command, k);
            assertThat(k.status).isNotEqualTo(Status.ENDED);
            assertThat(resumed.sessionGen()).as("generation").isEqualTo(gen).isGreaterThan(k.gen);
            k.gen = gen;
        } else if (event instanceof LockEvent.Renewed renewed) {
            renewed(renewed, command, now);
        } else if (event instanceof LockEvent.KeptAlive heard) {
            Known k = Objects.requireNonNull(known.get(heard.request()));
            assertThat(k.status).isEqualTo(Status.WAITING);
            assertThat(heard.aliveUntilMillis())
                    .isEqualTo(theAcquire(command, k).aliveUntilMillis());
            k.aliveUntilMillis = Math.max(k.aliveUntilMillis, heard.aliveUntilMillis());
            heardAtPosition = queue.indexOf(k) + 1;
        } else if (event instanceof LockEvent.ReleaseRequested asked) {
            releaseRequested(asked, command);
        } else if (event instanceof LockEvent.MinimumHoldEnded ended) {
            minimumHoldEnded(ended, command, now);
        } else {
            fail("the judge does not know " + event);
        }
    }

    private void releaseRequested(LockEvent.ReleaseRequested asked, Command command) {
        assertThat(command).isInstanceOf(RequestRelease.class);
        RequestRelease request = (RequestRelease) command;
        Known k = Objects.requireNonNull(known.get(asked.request()));
        assertThat(k.status).as("only a holder is asked").isEqualTo(Status.HELD);
        assertThat(asked)
                .isEqualTo(new LockEvent.ReleaseRequested(k.asked.id(), k.asked.grant(), request.by(), request.why()));
        assertThat(askedNow.add(k.asked.id())).as("asked once").isTrue();
    }

    private void minimumHoldEnded(LockEvent.MinimumHoldEnded ended, Command command, long now) {
        assertThat(command).as("only an operator ends it").isInstanceOf(ForceRelease.class);
        ForceRelease forced = (ForceRelease) command;
        assertThat(minimumHoldUntilMillis).as("what has not ended").isGreaterThan(now);
        assertThat(forced.token() == 0 || forcedNow > 0)
                .as("what the operator named")
                .isTrue();
        assertThat(ended.detail()).isEqualTo(forcedNow > 0 ? "" : "by " + forced.by() + ": " + forced.why());
        minimumHoldUntilMillis = 0;
        forcedNow = Math.max(1, forcedNow);
    }

    private void granted(Grant grant, Command command, long now) {
        Acquire acquire = newAcquire(command, now);
        assertThat(grant.request()).isEqualTo(acquire.request());
        assertThat(isFree(grant.mode(), now)).as("granted only when free").isTrue();
        assertThat(recovering).as("granted while holders may be unknown").isFalse();
        assertThat(holders()).as("holdersPerLockMax").hasSizeLessThan(limits.holdersPerLockMax());
        assertThat(grant.grantedAtMillis()).isEqualTo(now);
        Known k = add(acquire.request(), Status.HELD);
        k.token = minted(grant.token());
        leased(k, grant.expiresAtMillis(), now);
    }

    private void queued(Waiter waiter, Command command, long now) {
        Acquire acquire = newAcquire(command, now);
        assertThat(acquire.waitMillis()).as("a try never waits").isPositive();
        assertThat(waiter.request()).isEqualTo(acquire.request());
        assertThat(!recovering
                        && isFree(acquire.request().mode(), now)
                        && holders().size() < limits.holdersPerLockMax())
                .as("a free lock with room needs no queue")
                .isFalse();
        assertThat(queue).as("waitersPerLockMax").hasSizeLessThan(limits.waitersPerLockMax());
        assertThat(waiter)
                .isEqualTo(new Waiter(
                        acquire.request(),
                        now,
                        now + acquire.waitMillis(),
                        acquire.aliveUntilMillis(),
                        Waiter.Lapse.NONE));
        Known k = add(acquire.request(), Status.WAITING);
        k.waitUntilMillis = waiter.waitUntilMillis();
        k.aliveUntilMillis = waiter.aliveUntilMillis();
        k.arrival = ++arrivals;
        queue.add(k);
        heardAtPosition = queue.size();
    }

    private void offered(LockEvent.Offered offered, long now) {
        Known next = nextInLine().orElseThrow();
        assertThat(recovering).as("offered while holders may be unknown").isFalse();
        assertThat(offered.request()).as("the next in line").isEqualTo(next.asked.id());
        assertThat(closedUntilMillis())
                .as("an offer waits until the lock opens")
                .isLessThanOrEqualTo(now);
        assertThat(admits(next.asked.mode()))
                .as("an offer to a lock that is not free")
                .isTrue();
        assertThat(holders().size() + offers().size()).isLessThan(limits.holdersPerLockMax());
        assertThat(offered.lapsesAtMillis()).isEqualTo(now + limits.offerMillis());
        for (Known before : queue.subList(0, queue.indexOf(next))) {
            assertThat(before.stepsBack)
                    .as("only who stepped back is passed over")
                    .isTrue();
            before.stepsBack = false;
        }
        queue.remove(next);
        next.status = Status.OFFERED;
        next.token = minted(offered.token());
        next.untilMillis = offered.lapsesAtMillis();
    }

    private void accepted(LockEvent.Accepted accepted, Command command, long now) {
        Known k = ofGrant(accepted.grant());
        if (command instanceof Accept accept) {
            assertThat(accept.grant()).isEqualTo(k.asked.grant());
            assertThat(accept.token().value()).as("which offer").isEqualTo(k.token);
            assertThat(accept.session())
                    .as("whose offer")
                    .isEqualTo(k.asked.id().session());
        } else {
            theAcquire(command, k);
        }
        assertThat(k.status).isEqualTo(Status.OFFERED);
        assertThat(k.untilMillis).as("a lapsed offer cannot be accepted").isGreaterThan(now);
        assertThat(accepted.atMillis()).isEqualTo(now);
        k.status = Status.HELD;
        leased(k, now + k.asked.ttlMillis(), now);
    }

    /** Of the stream that speaks for {@code k} by this command. */
    private long generation(Command command, Known k) {
        if (command instanceof Resume resume) {
            return resume.sessionGen();
        }
        if (command instanceof Reclaim reclaim) {
            return reclaim.request().sessionGen();
        }
        return command instanceof Accept accept
                ? accept.sessionGen()
                : theAcquire(command, k).request().sessionGen();
    }

    private void lapsed(LockEvent.Lapsed lapsed, long now) {
        Known k = ofGrant(lapsed.grant());
        assertThat(k.status).isEqualTo(Status.OFFERED);
        assertThat(k.untilMillis).as("lapses at its end").isLessThanOrEqualTo(now);
        assertThat(k.lapses).as("back at the head once only").isZero();
        k.lapses++;
        k.stepsBack = true;
        k.status = Status.WAITING;
        queue.add(0, k);
        lapsedNow.add(k);
    }

    private void withdrawn(LockEvent.Withdrawn withdrawn) {
        Known k = ofGrant(withdrawn.grant());
        assertThat(recovering).as("what was promised stays so").isTrue();
        assertThat(k.status).isEqualTo(Status.OFFERED);
        k.status = Status.WAITING;
        queue.add(0, k);
        lapsedNow.add(k);
    }

    private void reclaimed(Grant grant, Command command, long now) {
        assertThat(command).isInstanceOf(Reclaim.class);
        Reclaim reclaim = (Reclaim) command;
        assertThat(recovering).as("who comes too late has lost it").isTrue();
        assertThat(grant.request()).isEqualTo(reclaim.request());
        assertThat(grant.token()).isEqualTo(reclaim.token());
        assertThat(grant.grantedAtMillis()).isEqualTo(now);
        Known named = byGrant.get(grant.id());
        assertThat(named != null
                        && named.status == Status.WAITING
                        && !named.asked.id().equals(reclaim.request().id()))
                .as("what another waits for")
                .isFalse();
        Known waited = known.get(reclaim.request().id());
        if (waited != null) {
            assertThat(waited.status == Status.WAITING || (waited.status == Status.ENDED && !onRecord(waited)))
                    .as("what is known is not reclaimed")
                    .isTrue();
            assertThat(waited.status == Status.WAITING
                            && waited.gen > reclaim.request().sessionGen())
                    .as("a newer stream speaks for the request")
                    .isFalse();
            queue.remove(waited);
        }
        assertThat(outlives(reclaim, false)).as("the highest token wins").isEmpty();
        assertThat(admits(reclaim.request().mode())).as("older ones end first").isTrue();
        leasedEver.remove(reclaim.request().id());
        Known k = add(reclaim.request(), Status.HELD);
        k.token = reclaim.token().value();
        leased(k, grant.expiresAtMillis(), now);
    }

    /** Those that show the reclaimed grant to be over: a conflicting one with a higher token, held or, of EXCLUSIVE, ended. */
    private List<Known> outlives(Reclaim reclaim, boolean evenIfLongAgo) {
        return known.values().stream()
                .filter(k -> switch (k.status) {
                    case HELD ->
                        conflicts(reclaim, k) && k.token >= reclaim.token().value();
                    case ENDED ->
                        reclaim.request().mode() == Mode.EXCLUSIVE
                                && k.endToken > reclaim.token().value()
                                && (evenIfLongAgo || onRecord(k));
                    case OFFERED, WAITING -> false;
                })
                .toList();
    }

    private static boolean conflicts(Reclaim reclaim, Known k) {
        return reclaim.request().mode() == Mode.EXCLUSIVE || k.asked.mode() == Mode.EXCLUSIVE;
    }

    private void renewed(LockEvent.Renewed renewed, Command command, long now) {
        Known k = ofGrant(renewed.grant());
        assertThat(k.status).as("only a lease is renewed").isEqualTo(Status.HELD);
        assertThat(renewed.expiresAtMillis()).isEqualTo(now + k.asked.ttlMillis());
        boolean setBack = k.untilMillis - now > k.asked.ttlMillis();
        assertThat(k.untilMillis).as("a lease that ended is not renewed").isGreaterThan(now);
        assertThat(setBack || speaksFor(command, k)).as("who may renew").isTrue();
        k.untilMillis = renewed.expiresAtMillis();
    }

    private static boolean speaksFor(Command command, Known k) {
        GrantId grant = k.asked.grant();
        SessionId session = k.asked.id().session();
        if (command instanceof Acquire acquire) {
            return acquire.request().id().equals(k.asked.id());
        }
        if (command instanceof Accept accept) {
            return accept.grant().equals(grant)
                    && accept.session().equals(session)
                    && accept.token().value() == k.token;
        }
        if (command instanceof Renew renew) {
            return renew.grant().equals(grant)
                    && renew.session().equals(session)
                    && renew.token().value() == k.token;
        }
        if (command instanceof Reclaim reclaim) {
            return reclaim.request().grant().equals(grant)
                    && reclaim.request().id().session().equals(session)
                    && reclaim.token().value() == k.token
                    && reclaim.request().sessionGen() >= k.gen;
        }
        return command instanceof Resume resume
                && resume.grant().equals(grant)
                && resume.session().equals(session)
                && resume.token().value() == k.token
                && resume.sessionGen() >= k.gen;
    }

    private void ended(LockEvent.Ended ended, Command command, long now) {
        Tombstone tombstone = ended.tombstone();
        assertThat(tombstone.endedAtMillis()).isEqualTo(now);
        Known k;
        Known earlier = known.get(tombstone.request());
        if (earlier == null) {
            k = endedUnknown(tombstone, command, now);
            assertThat(ended.lockDelayUntilMillis()).isZero();
        } else if (earlier.status == Status.ENDED) {
            // A leave cannot know what was forgotten; remembering it once more changes nothing.
            assertThat(onRecord(earlier)).as("an end on record is final").isFalse();
            byGrant.remove(earlier.asked.grant());
            k = endedUnknown(tombstone, command, now);
            assertThat(ended.lockDelayUntilMillis()).isZero();
        } else {
            k = earlier;
            assertThat(k.status).as("an end is final").isNotEqualTo(Status.ENDED);
            assertThat(tombstone.grant()).isEqualTo(k.asked.grant());
            assertThat(tombstone.token()).isEqualTo(k.status == Status.WAITING ? 0 : k.token);
            boolean older = tombstone.end() == End.EXPIRED && k.untilMillis > now && isOlder(k, command);
            assertThat(older || mayEnd(k, tombstone.end(), command, now))
                    .as("%s may end as %s", k.status, tombstone.end())
                    .isTrue();
            long delay = older ? 0 : k.asked.lockDelayMillis();
            long closed = switch (tombstone.end()) {
                case EXPIRED -> k.untilMillis + delay;
                case ABANDONED, FORCE_RELEASED -> now + delay;
                case RELEASED, LEFT, TIMED_OUT, DROPPED, BUSY -> 0;
            };
            assertThat(ended.lockDelayUntilMillis()).as("lock-delay").isEqualTo(delay == 0 ? 0 : closed);
        }
        String detail = "";
        if (tombstone.end() == End.FORCE_RELEASED && command instanceof ForceRelease forced) {
            detail = "by " + forced.by() + ": " + forced.why();
            forcedNow++;
        } else if (tombstone.end() == End.ABANDONED) {
            detail = command instanceof Abandon abandon
                    ? abandon.cause().words()
                    : ((Leave) command).cause().words();
        }
        assertThat(tombstone.detail()).isEqualTo(detail);
        queue.remove(k);
        k.status = Status.ENDED;
        k.end = tombstone.end();
        k.endedAtMillis = now;
        k.endNumber = endsOfTries.merge(k.end == End.BUSY, 1L, Long::sum);
        k.endToken = tombstone.token();
        lockDelayUntilMillis = Math.max(lockDelayUntilMillis, ended.lockDelayUntilMillis());
    }

    /** Whether the command reclaims a grant that was made after this one was over. */
    private boolean isOlder(Known k, Command command) {
        return recovering
                && k.status == Status.HELD
                && command instanceof Reclaim reclaim
                && conflicts(reclaim, k)
                && k.token < reclaim.token().value();
    }

    private Known endedUnknown(Tombstone tombstone, Command command, long now) {
        if (tombstone.end() == End.BUSY) {
            Acquire acquire = newAcquire(command, now);
            assertThat(acquire.request().id()).isEqualTo(tombstone.request());
            assertThat(acquire.waitMillis()).as("only a try is busy").isZero();
            assertThat(
                            recovering
                                    ? admits(acquire.request().mode()) && closedUntilMillis() <= now
                                    : isFree(acquire.request().mode(), now))
                    .as("a free lock is not busy")
                    .isFalse();
            return add(acquire.request(), Status.ENDED);
        }
        assertThat(tombstone.end()).as("the end of an unknown request").isEqualTo(End.LEFT);
        assertThat(command).isInstanceOf(Leave.class);
        assertThat(((Leave) command).request()).isEqualTo(tombstone.request());
        Request nothing = new Request(tombstone.request(), 0, tombstone.grant(), Mode.EXCLUSIVE, 0, 0, 0, "", "");
        Known k = new Known(nothing, Status.ENDED);
        known.put(tombstone.request(), k);
        return k;
    }

    private static boolean mayEnd(Known k, End end, Command command, long now) {
        return switch (end) {
            case EXPIRED -> k.status == Status.HELD && k.untilMillis <= now;
            case TIMED_OUT -> k.status == Status.WAITING && k.waitUntilMillis <= now;
            case DROPPED ->
                (k.status == Status.WAITING && k.aliveUntilMillis <= now)
                        || (k.status == Status.OFFERED && k.untilMillis <= now && k.lapses == 1);
            // A server says so for a stream that broke: the holder did not say that it has stopped.
            case ABANDONED ->
                k.status == Status.HELD
                        && k.untilMillis > now
                        && ((command instanceof Abandon abandon
                                        && abandon.grant().equals(k.asked.grant())
                                        && abandon.sessionGen() >= k.gen)
                                || (leaves(command, k) && !byClient(command)));
            case LEFT -> (k.status == Status.WAITING || k.status == Status.OFFERED) && leaves(command, k);
            case RELEASED ->
                k.untilMillis > now
                        && ((k.status == Status.HELD && leaves(command, k) && byClient(command))
                                || ((k.status == Status.HELD || k.status == Status.OFFERED) && releases(command, k)));
            case FORCE_RELEASED ->
                k.status == Status.HELD
                        && k.untilMillis > now
                        && command instanceof ForceRelease forced
                        && names(forced, k);
            case BUSY -> false;
        };
    }

    /** All, or the one that the token is of, by whichever of its turns. */
    private static boolean names(ForceRelease forced, Known k) {
        long turn = forced.token() - k.token;
        return forced.token() == 0 || (turn >= 0 && turn < FencingToken.PER_GRANT);
    }

    private static boolean releases(Command command, Known k) {
        return command instanceof Release release
                && release.grant().equals(k.asked.grant())
                && release.session().equals(k.asked.id().session())
                && release.token().value() == k.token;
    }

    private static boolean byClient(Command command) {
        return command instanceof Leave leave && leave.sessionGen() == Leave.BY_CLIENT;
    }

    private static boolean leaves(Command command, Known k) {
        return command instanceof Leave leave && leave.request().equals(k.asked.id()) && leave.sessionGen() >= k.gen;
    }

    // ---- what always holds ----

    private void holdsAlways(LockState state, long now, boolean quiet) {
        long exclusive = known.values().stream()
                .filter(k -> k.status == Status.HELD || k.status == Status.OFFERED)
                .filter(k -> k.asked.mode() == Mode.EXCLUSIVE)
                .count();
        int all = holders().size() + offers().size();
        assertThat(exclusive == 0 || all == 1)
                .as("an EXCLUSIVE grant or offer stands alone")
                .isTrue();
        for (Known k : holders()) {
            assertThat(k.untilMillis).as("no lease outlives its end").isGreaterThan(now);
            assertThat(k.untilMillis - now)
                    .as("no lease is longer than its length")
                    .isLessThanOrEqualTo(k.asked.ttlMillis());
        }
        assertThat(recovering && !offers().isEmpty())
                .as("no promise stands while holders may be unknown")
                .isFalse();
        for (Known k : offers()) {
            assertThat(k.untilMillis).as("no offer outlives its end").isGreaterThan(now);
        }
        for (Known k : queue) {
            assertThat(Math.min(k.waitUntilMillis, k.aliveUntilMillis))
                    .as("no wait outlives its end")
                    .isGreaterThan(now);
        }
        assertThat(ids(state.holders().stream().map(Grant::request).toList())).isEqualTo(idsOf(holders()));
        assertThat(ids(state.offers().stream().map(Offer::request).toList())).isEqualTo(idsOf(offers()));
        assertThat(state.waiters().stream().map(w -> w.request().id()).toList())
                .as("the queue")
                .isEqualTo(queue.stream().map(k -> k.asked.id()).toList());
        assertThat(state.lockDelayUntilMillis()).isEqualTo(lockDelayUntilMillis);
        assertThat(state.minimumHoldUntilMillis()).isEqualTo(minimumHoldUntilMillis);
        for (Grant grant : state.holders()) {
            Known k = Objects.requireNonNull(known.get(grant.request().id()));
            assertThat(grant.token().value()).isEqualTo(k.token);
            assertThat(grant.expiresAtMillis()).isEqualTo(k.untilMillis);
            assertThat(grant.request().sessionGen()).isEqualTo(k.gen);
        }
        for (int i = 1; i < lapsedNow.size(); i++) {
            Known one = lapsedNow.get(i - 1);
            Known other = lapsedNow.get(i);
            if (one.status == Status.WAITING && other.status == Status.WAITING && !wentBack(one, other)) {
                assertThat(queue.indexOf(one) < queue.indexOf(other))
                        .as("offers that lapse together keep their order of arrival")
                        .isEqualTo(one.arrival < other.arrival);
            }
        }
        progresses(now);
        if (!quiet && (known.size() < 100 || ++steps % 8 == 0)) {
            // Of a long history every eighth time: both look at all of it.
            remembers(state);
            survivesAKill(state, now);
        }
    }

    /** Of those withdrawn one may have had its turn away before. */
    private boolean wentBack(Known one, Known other) {
        return recovering && (one.lapses > 0 || other.lapses > 0);
    }

    /** A lock that is not closed and has room never lets the next in line wait. */
    private void progresses(long now) {
        Optional<Known> next = nextInLine();
        boolean canOffer = next.isPresent()
                && !recovering
                && closedUntilMillis() <= now
                && tokensLeft()
                && holders().size() + offers().size() < limits.holdersPerLockMax()
                && admits(next.get().asked.mode());
        assertThat(canOffer).as("a free lock with a waiter has an offer out").isFalse();
    }

    /** Every end of the last minute is on record, or known to be forgotten. */
    private void remembers(LockState state) {
        assertThat(state.tombstones()).hasSizeLessThanOrEqualTo(2 * Limits.TOMBSTONES_PER_LOCK_MAX);
        Map<RequestId, Tombstone> recorded = new HashMap<>();
        state.tombstones().forEach(t -> recorded.put(t.request(), t));
        for (Known k : known.values()) {
            if (k.status == Status.ENDED && latestMillis - k.endedAtMillis < Limits.TOMBSTONE_MILLIS) {
                Tombstone tombstone = recorded.get(k.asked.id());
                if (tombstone == null) {
                    assertThat(k.endNumber)
                            .as("only the oldest ends are forgotten")
                            .isLessThanOrEqualTo(ended(k.end) - Limits.TOMBSTONES_PER_LOCK_MAX);
                    assertThat(k.endedAtMillis)
                            .as("forgotten ends are owned up to")
                            .isLessThanOrEqualTo(state.forgottenUntilMillis());
                } else {
                    assertThat(tombstone.end()).isEqualTo(k.end);
                }
            }
        }
        assertThat(state.forgottenUntilMillis() == forgottenAtFirst
                        || ended(End.BUSY) > Limits.TOMBSTONES_PER_LOCK_MAX
                        || ended(End.RELEASED) > Limits.TOMBSTONES_PER_LOCK_MAX)
                .isTrue();
    }

    /** What the durable events alone make of the lock differs by lease ends and failed tries only. */
    private void survivesAKill(LockState state, long now) {
        LockState kept = durable.restarted(now);
        LockState live = state.restarted(now);
        assertThat(kept.holders()).isEqualTo(live.holders());
        assertThat(kept.offers()).isEqualTo(live.offers());
        assertThat(kept.waiters()).isEqualTo(live.waiters());
        assertThat(kept.lockDelayUntilMillis()).isEqualTo(live.lockDelayUntilMillis());
        assertThat(kept.minimumHoldUntilMillis()).isEqualTo(live.minimumHoldUntilMillis());
        List<Tombstone> lasting =
                live.tombstones().stream().filter(t -> t.end() != End.BUSY).toList();
        if (kept.tombstones().equals(lasting)) {
            return;
        }
        Set<Tombstone> more = new LinkedHashSet<>(kept.tombstones());
        // An old one behind a BUSY one, which was recorded before the clock was set back, goes later than without that.
        assertThat(more.containsAll(lasting.stream()
                        .filter(t -> t.endedAtMillis() + Limits.TOMBSTONE_MILLIS > latestMillis)
                        .toList()))
                .as("ends that a kill forgets")
                .isTrue();
        more.removeAll(new HashSet<>(lasting));
        more.removeIf(t -> t.endedAtMillis() <= state.forgottenUntilMillis()
                || t.endedAtMillis() + Limits.TOMBSTONE_MILLIS <= latestMillis);
        assertThat(more).as("ends that only a kill remembers").isEmpty();
    }

    // ---- the answer ----

    private void answered(Command command, Decision decision, long now, Optional<Status> was) {
        Answer answer = decision.answer();
        boolean refused = answer instanceof Answer.Refused;
        Set<Reason> expected = expectedRefusal(command, now, was);
        if (refused) {
            assertThat(expected)
                    .as("refusals called for")
                    .contains(((Answer.Refused) answer).rejection().reason());
        } else {
            assertThat(expected.isEmpty() || expected.size() > 1)
                    .as("must be refused: %s", expected)
                    .isTrue();
        }
        Optional<Known> subject = subject(command);
        if (command instanceof Acquire acquire
                && subject.isPresent()
                && subject.get().status != Status.ENDED
                && !expected.contains(Reason.MALFORMED_REQUEST)) {
            assertThat(subject.get().gen)
                    .as("the stream that asked speaks for the request")
                    .isGreaterThanOrEqualTo(acquire.request().sessionGen());
        }
        if (answer instanceof Answer.Granted granted) {
            assertThat(command).isInstanceOfAny(Acquire.class, Accept.class);
            isHis(granted.grant(), subject.orElseThrow(), now);
            if (command instanceof Accept accept) {
                assertThat(subject.orElseThrow().gen)
                        .as("the stream that accepted speaks for the lease")
                        .isGreaterThanOrEqualTo(accept.sessionGen());
            }
        } else if (answer instanceof Answer.Renewed renewed) {
            assertThat(command).isInstanceOf(Renew.class);
            isHis(renewed.grant(), subject.orElseThrow(), now);
        } else if (answer instanceof Answer.Resumed resumed) {
            assertThat(command).isInstanceOfAny(Resume.class, Reclaim.class);
            Known k = subject.orElseThrow();
            isHis(resumed.grant(), k, now);
            assertThat(k.gen).isEqualTo(generation(command, k));
        } else if (answer instanceof Answer.Queued queued) {
            Known k = subject.orElseThrow();
            assertThat(command).isInstanceOfAny(Acquire.class, Accept.class);
            int position = command instanceof Accept ? queue.indexOf(k) + 1 : heardAtPosition;
            assertThat(queued.position()).isEqualTo(position).isPositive();
        } else if (answer instanceof Answer.Busy busy) {
            assertThat(subject.orElseThrow().end).isEqualTo(End.BUSY);
            assertThat(subject.orElseThrow().status).isEqualTo(Status.ENDED);
            isBusy(busy, ((Acquire) command).request().mode(), now);
        } else if (answer instanceof Answer.WaitEnded ended) {
            assertThat(ended.end()).isEqualTo(subject.orElseThrow().end).isIn(End.LEFT, End.TIMED_OUT, End.DROPPED);
        } else if (answer instanceof Answer.Released) {
            assertThat(command).isInstanceOf(Release.class);
            assertThat(subject.orElseThrow().end).isEqualTo(End.RELEASED);
            assertThat(subject.orElseThrow().status).isEqualTo(Status.ENDED);
        } else if (answer instanceof Answer.Left left) {
            leftRight(left, (Leave) command, decision, was);
        } else if (answer instanceof Answer.Abandoned abandoned) {
            abandonedRight(abandoned, (Abandon) command, decision);
        } else if (answer instanceof Answer.Described described) {
            assertThat(described.state()).isEqualTo(decision.next());
            assertThat(described.nowMillis()).isEqualTo(now);
        } else if (answer instanceof Answer.ReleaseRequested asked) {
            assertThat(command).isInstanceOf(RequestRelease.class);
            assertThat(askedNow).as("every holder is asked").isEqualTo(idsOf(holders()));
            assertThat(asked.holders()).isEqualTo(askedNow.size());
        } else if (answer instanceof Answer.ForceReleased released) {
            assertThat(released.leases()).isEqualTo(forcedNow);
            ForceRelease forced = (ForceRelease) command;
            assertThat(holders()).as("who was to be released holds nothing").noneMatch(k -> names(forced, k));
            assertThat(minimumHoldUntilMillis > now && (forced.token() == 0 || forcedNow > 0))
                    .as("the operator opens the lock")
                    .isFalse();
        } else if (answer instanceof Answer.Checked checked) {
            CheckSequencer check = (CheckSequencer) command;
            Known k = byGrant.get(check.grant());
            assertThat(checked.alive())
                    .isEqualTo(k != null
                            && (k.status == Status.HELD || k.status == Status.OFFERED)
                            && k.token == check.token().value());
        } else if (answer instanceof Answer.Expired) {
            assertThat(command).isInstanceOf(Expire.class);
        }
    }

    private void leftRight(Answer.Left left, Leave leave, Decision decision, Optional<Status> was) {
        Known k = Objects.requireNonNull(known.get(leave.request()));
        boolean endedNow = endsNow(decision, k.asked.id(), End.LEFT);
        assertThat(left.wasWaiting()).isEqualTo(endedNow && was.isPresent() && was.get() != Status.ENDED);
        if (leave.sessionGen() >= k.gen) {
            assertThat(k.status).as("who left is gone").isEqualTo(Status.ENDED);
        }
    }

    private void abandonedRight(Answer.Abandoned abandoned, Abandon abandon, Decision decision) {
        Known k = byGrant.get(abandon.grant());
        boolean endedNow = k != null && endsNow(decision, k.asked.id(), End.ABANDONED);
        assertThat(abandoned.ended()).isEqualTo(endedNow);
        if (k != null && k.gen <= abandon.sessionGen()) {
            assertThat(k.status).as("what was abandoned is not held").isNotEqualTo(Status.HELD);
        }
    }

    private static boolean endsNow(Decision decision, RequestId id, End end) {
        return decision.events().stream()
                .anyMatch(e -> e instanceof LockEvent.Ended ended
                        && ended.tombstone().request().equals(id)
                        && ended.tombstone().end() == end);
    }

    private void isHis(Grant grant, Known k, long now) {
        assertThat(k.status).isEqualTo(Status.HELD);
        assertThat(grant.request().id()).isEqualTo(k.asked.id());
        assertThat(grant.id()).isEqualTo(k.asked.grant());
        assertThat(grant.token().value()).isEqualTo(k.token);
        assertThat(grant.expiresAtMillis()).as("a full lease from now").isEqualTo(now + k.asked.ttlMillis());
        assertThat(grant.request().sessionGen()).isEqualTo(k.gen);
    }

    private void isBusy(Answer.Busy busy, Mode mode, long now) {
        assertThat(busy.waiters()).isEqualTo(queue.size() + offers().size());
        if (holders().isEmpty()) {
            assertThat(busy.holder()).isEmpty();
        } else {
            assertThat(idsOf(holders()))
                    .contains(busy.holder().orElseThrow().request().id());
        }
        assertThat(busy.remainingMillis()).isNotNegative();
        List<Long> inTheWay = new ArrayList<>();
        offers().forEach(k -> inTheWay.add(k.untilMillis));
        holders().stream()
                .filter(k -> !(mode == Mode.SHARED && k.asked.mode() == Mode.SHARED))
                .forEach(k -> inTheWay.add(k.untilMillis));
        if (lockDelayUntilMillis > now) {
            inTheWay.add(lockDelayUntilMillis);
        }
        if (inTheWay.isEmpty()) {
            holders().forEach(k -> inTheWay.add(k.untilMillis));
        }
        long end = inTheWay.stream().mapToLong(until -> until).min().orElse(now);
        assertThat(busy.remainingMillis()).isEqualTo(Math.max(end, minimumHoldUntilMillis) - now);
        assertThat(busy.minimumHoldRemainingMillis()).isEqualTo(Math.max(0, minimumHoldUntilMillis - now));
        assertThat(busy.nowMillis()).isEqualTo(now);
    }

    /** Empty: must not be refused. One: must be, for this reason. More: may be, for one of these. */
    private Set<Reason> expectedRefusal(Command command, long now, Optional<Status> was) {
        if (command instanceof Acquire acquire) {
            return was.isEmpty() ? refusalOfNew(acquire, now) : refusalOfKnown(acquire);
        }
        if (command instanceof Barrier) {
            return raisedNow || tokensLeft() ? Set.of() : Set.of(Reason.TOKENS_EXHAUSTED);
        }
        if (command instanceof Accept accept) {
            Known k = byGrant.get(accept.grant());
            boolean offeredOrHeld = k != null && (k.status == Status.OFFERED || k.status == Status.HELD);
            return refusalOfHolder(
                    accept.grant(),
                    accept.session(),
                    offeredOrHeld && tokenDiffers(accept.grant(), accept.token()),
                    known -> known.status != Status.ENDED,
                    false);
        }
        if (command instanceof Renew renew) {
            return refusalOfHolder(
                    renew.grant(),
                    renew.session(),
                    tokenDiffers(renew.grant(), renew.token()),
                    k -> k.status == Status.HELD,
                    false);
        }
        if (command instanceof Resume resume) {
            Known k = byGrant.get(resume.grant());
            boolean older = k != null && k.gen > resume.sessionGen();
            return refusalOfHolder(
                    resume.grant(),
                    resume.session(),
                    tokenDiffers(resume.grant(), resume.token()),
                    held -> held.status == Status.HELD,
                    older);
        }
        if (command instanceof Reclaim reclaim) {
            return refusalOfReclaim(reclaim);
        }
        if (command instanceof CheckSequencer check && recovering) {
            Known k = byGrant.get(check.grant());
            if (k == null || k.status == Status.WAITING) {
                return Set.of(Reason.RECOVERING);
            }
            return k.status == Status.HELD || onRecord(k)
                    ? Set.of()
                    : Set.of(Reason.RECOVERING, Reason.OUTCOME_UNKNOWN);
        }
        if (command instanceof Release release) {
            Known k = byGrant.get(release.grant());
            boolean differs = tokenDiffers(release.grant(), release.token());
            if (k == null || !k.asked.id().session().equals(release.session())) {
                return Set.of(Reason.NOT_HOLDER);
            }
            if (k.status == Status.ENDED && k.end == End.RELEASED) {
                return onRecord(k) ? Set.of() : Set.of(Reason.NOT_HOLDER, Reason.LEASE_EXPIRED);
            }
            if (k.status == Status.OFFERED) {
                return Set.of(Reason.NOT_HOLDER);
            }
            return refusalOfHolder(
                    release.grant(), release.session(), differs, held -> held.status == Status.HELD, false);
        }
        return Set.of();
    }

    /** A refused reclaim changed nothing, so what stands now is what it met. */
    private Set<Reason> refusalOfReclaim(Reclaim reclaim) {
        Request asked = reclaim.request();
        Known k = byGrant.get(asked.grant());
        Known same = known.get(asked.id());
        boolean anothers = k != null && !k.asked.id().equals(asked.id());
        boolean taken = anothers || (same != null && same.status == Status.WAITING && same.gen > asked.sessionGen());
        boolean forgotten = recovering
                && (k == null || k.status == Status.WAITING)
                && (same == null || same.status == Status.WAITING)
                && !taken;
        if (forgotten) {
            // One that outlived it counts for sure while it is held or its end is on record.
            return outlives(reclaim, false).isEmpty()
                            && !outlives(reclaim, true).isEmpty()
                    ? Set.of(Reason.NOT_HOLDER, Reason.OUTCOME_UNKNOWN)
                    : outlives(reclaim, true).isEmpty() ? Set.of() : Set.of(Reason.NOT_HOLDER);
        }
        Set<Reason> asResume = refusalOfHolder(
                asked.grant(),
                asked.id().session(),
                tokenDiffers(asked.grant(), reclaim.token()),
                held -> held.status == Status.HELD,
                k != null && k.gen > asked.sessionGen());
        boolean longAgo = recovering
                && ((k != null && k.status == Status.ENDED && !onRecord(k))
                        || (same != null && same.status == Status.ENDED && !onRecord(same)));
        if (!longAgo) {
            return asResume;
        }
        Set<Reason> either = new HashSet<>(asResume);
        either.addAll(Set.of(Reason.NOT_HOLDER, Reason.LEASE_EXPIRED));
        return either;
    }

    private boolean tokenDiffers(GrantId grant, FencingToken token) {
        Known k = byGrant.get(grant);
        return k != null && k.token != token.value();
    }

    private Set<Reason> refusalOfHolder(
            GrantId grant,
            SessionId session,
            boolean tokenDiffers,
            java.util.function.Predicate<Known> stands,
            boolean olderStream) {
        Known k = byGrant.get(grant);
        if (k == null || !k.asked.id().session().equals(session)) {
            return Set.of(Reason.NOT_HOLDER);
        }
        if (k.status == Status.ENDED) {
            return onRecord(k) ? Set.of(Reason.LEASE_EXPIRED) : Set.of(Reason.LEASE_EXPIRED, Reason.NOT_HOLDER);
        }
        if (!stands.test(k)) {
            return Set.of(Reason.NOT_HOLDER);
        }
        if (tokenDiffers) {
            return Set.of(Reason.TOKEN_MISMATCH);
        }
        return olderStream ? Set.of(Reason.NOT_HOLDER) : Set.of();
    }

    private Set<Reason> refusalOfKnown(Acquire acquire) {
        Known k = Objects.requireNonNull(known.get(acquire.request().id()));
        if (k.status != Status.ENDED) {
            return differs(k.asked, acquire.request()) ? Set.of(Reason.MALFORMED_REQUEST) : Set.of();
        }
        return switch (k.end) {
            case RELEASED, EXPIRED, ABANDONED, FORCE_RELEASED -> Set.of(Reason.LEASE_EXPIRED);
            case LEFT, TIMED_OUT, DROPPED, BUSY ->
                onRecord(k) ? Set.of() : Set.of(Reason.LEASE_EXPIRED, Reason.OUTCOME_UNKNOWN);
        };
    }

    private static boolean differs(Request first, Request again) {
        return first.mode() != again.mode()
                || first.ttlMillis() != again.ttlMillis()
                || first.lockDelayMillis() != again.lockDelayMillis()
                || first.lockAtLeastForMillis() != again.lockAtLeastForMillis();
    }

    /** The model has the request in it by now if it was taken; what counts is what stood in its way. */
    private Set<Reason> refusalOfNew(Acquire acquire, long now) {
        if (known.containsKey(acquire.request().id())) {
            return Set.of();
        }
        if (isTooOld(acquire, now, replayed)) {
            return Set.of(Reason.LEASE_EXPIRED);
        }
        if (!tokensLeft()) {
            return Set.of(Reason.TOKENS_EXHAUSTED);
        }
        if (recovering && acquire.waitMillis() == 0) {
            if (isFree(acquire.request().mode(), now) && holders().size() >= limits.holdersPerLockMax()) {
                return Set.of(Reason.LIMIT_EXCEEDED);
            }
            return admits(acquire.request().mode()) && closedUntilMillis() <= now
                    ? Set.of(Reason.RECOVERING)
                    : Set.of();
        }
        if (!recovering && isFree(acquire.request().mode(), now)) {
            boolean full = holders().size() >= limits.holdersPerLockMax();
            return full && acquire.waitMillis() == 0 ? Set.of(Reason.LIMIT_EXCEEDED) : Set.of();
        }
        return acquire.waitMillis() > 0 && queue.size() >= limits.waitersPerLockMax()
                ? Set.of(Reason.QUEUE_FULL)
                : Set.of();
    }

    private boolean isTooOld(Acquire acquire, long now, LockState state) {
        return acquire.ageMillis() > limits.acquireAgeMaxMillis()
                || (acquire.ageMillis() > 0 && now - acquire.ageMillis() <= state.forgottenUntilMillis());
    }

    private boolean onRecord(Known k) {
        return latestMillis - k.endedAtMillis < Limits.TOMBSTONE_MILLIS
                && k.endNumber > ended(k.end) - Limits.TOMBSTONES_PER_LOCK_MAX;
    }

    /** How many have ended, of the kind that {@code end} is of. */
    private long ended(@Nullable End end) {
        return endsOfTries.getOrDefault(end == End.BUSY, 0L);
    }

    // ---- the model ----

    private Optional<Known> subject(Command command) {
        if (command instanceof Acquire acquire) {
            return Optional.ofNullable(known.get(acquire.request().id()));
        }
        if (command instanceof Leave leave) {
            return Optional.ofNullable(known.get(leave.request()));
        }
        if (command instanceof Accept accept) {
            return Optional.ofNullable(byGrant.get(accept.grant()));
        }
        if (command instanceof Renew renew) {
            return Optional.ofNullable(byGrant.get(renew.grant()));
        }
        if (command instanceof Release release) {
            return Optional.ofNullable(byGrant.get(release.grant()));
        }
        if (command instanceof Resume resume) {
            return Optional.ofNullable(byGrant.get(resume.grant()));
        }
        if (command instanceof Reclaim reclaim) {
            return Optional.ofNullable(byGrant.get(reclaim.request().grant()));
        }
        return Optional.empty();
    }

    private Acquire newAcquire(Command command, long now) {
        assertThat(command).isInstanceOf(Acquire.class);
        Acquire acquire = (Acquire) command;
        assertThat(known)
                .as("one request, one grant")
                .doesNotContainKey(acquire.request().id());
        assertThat(isTooOld(acquire, now, replayed))
                .as("too old to be taken for new")
                .isFalse();
        return acquire;
    }

    private static Acquire theAcquire(Command command, Known k) {
        assertThat(command).isInstanceOf(Acquire.class);
        assertThat(((Acquire) command).request().id()).isEqualTo(k.asked.id());
        return (Acquire) command;
    }

    private Known ofGrant(GrantId grant) {
        return Objects.requireNonNull(byGrant.get(grant), () -> "no grant " + grant);
    }

    private Known add(Request asked, Status status) {
        Known k = new Known(asked, status);
        known.put(asked.id(), k);
        byGrant.put(asked.grant(), k);
        return k;
    }

    private void leased(Known k, long until, long now) {
        assertThat(until).as("a full lease").isEqualTo(now + k.asked.ttlMillis());
        assertThat(leasedEver.add(k.asked.id())).as("one request, one grant").isTrue();
        k.untilMillis = until;
        if (k.asked.mode() == Mode.EXCLUSIVE && k.asked.lockAtLeastForMillis() > 0) {
            minimumHoldUntilMillis = Math.max(minimumHoldUntilMillis, now + k.asked.lockAtLeastForMillis());
        }
    }

    private long minted(FencingToken token) {
        assertThat(token.value()).as("tokens rise").isGreaterThan(lastToken);
        lastToken = token.value() + FencingToken.PER_GRANT - 1;
        return token.value();
    }

    /** All that a grant has. */
    private boolean tokensLeft() {
        return lastToken + FencingToken.PER_GRANT <= FencingToken.MAX;
    }

    private long closedUntilMillis() {
        return Math.max(lockDelayUntilMillis, minimumHoldUntilMillis);
    }

    private List<Known> holders() {
        return known(Status.HELD);
    }

    private List<Known> offers() {
        return known(Status.OFFERED);
    }

    private boolean admits(Mode mode) {
        return known.values().stream()
                .filter(k -> k.status == Status.HELD || k.status == Status.OFFERED)
                .allMatch(k -> mode == Mode.SHARED && k.asked.mode() == Mode.SHARED);
    }

    private boolean isFree(Mode mode, long now) {
        return queue.isEmpty() && offers().isEmpty() && closedUntilMillis() <= now && admits(mode);
    }

    private Optional<Known> nextInLine() {
        return queue.stream()
                .filter(k -> !k.stepsBack)
                .findFirst()
                .or(() -> queue.stream().findFirst());
    }

    private static Set<RequestId> ids(List<Request> requests) {
        return requests.stream().map(Request::id).collect(Collectors.toSet());
    }

    private static Set<RequestId> idsOf(List<Known> some) {
        return some.stream().map(k -> k.asked.id()).collect(Collectors.toSet());
    }
}
