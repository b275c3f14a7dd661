package dev.palisade.server.metrics;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Store that measures another: how long its answers take, and what becomes of requests and leases by its answers and events. It
 * changes neither, and keeps nothing of a lock but the time at which a wait or a lease began.
 */
public final class MeteredStore implements LockStore {
    /** Of leases, of waits and of offers: about 25 MB at most for each. */
    private static final int STARTS_MAX = 200_000;

    private final LockStore store;
    private final LongSupplier nanoTime;
    private final StartTimes<LockRequest> waits = new StartTimes<>(STARTS_MAX);
    private final StartTimes<GrantId> leases = new StartTimes<>(STARTS_MAX);
    /** Of a waiter that releases its lock at once, no accept is heard: it had the lease since the offer. */
    private final Map<Mode, StartTimes<GrantId>> offered = new EnumMap<>(
            Map.of(Mode.EXCLUSIVE, new StartTimes<>(STARTS_MAX), Mode.SHARED, new StartTimes<>(STARTS_MAX)));

    private final Map<AcquireOutcome, Timer> acquire;
    private final Map<WaitEnding, Timer> wait;
    private final Map<LeaseEnd, Timer> hold;
    private final Map<StoreCommand, Timer> commands;
    private final Map<Mode, Counter> granted;
    private final Map<LeaseEnd, Counter> ended;
    private final Counter offers;
    private final DistributionSummary batches;

    /** @param nanoTime a monotonic clock */
    public MeteredStore(LockStore store, ServerMetrics metrics, LongSupplier nanoTime) {
        this.store = store;
        this.nanoTime = nanoTime;
        this.acquire = metrics.latencies(ServerMetric.ACQUIRE, AcquireOutcome.class);
        this.wait = metrics.durations(ServerMetric.WAIT, WaitEnding.class);
        this.hold = metrics.durations(ServerMetric.HOLD, LeaseEnd.class);
        this.commands = metrics.latencies(ServerMetric.STORE_COMMAND, StoreCommand.class);
        this.granted = metrics.counters(ServerMetric.LEASES_GRANTED, Mode.class);
        this.ended = metrics.counters(ServerMetric.LEASES_ENDED, LeaseEnd.class);
        this.offers = metrics.counter(ServerMetric.OFFERS);
        this.batches = metrics.batches();
    }

    @Override
    public CompletionStage<Answer> execute(Command command) {
        long began = nanoTime.getAsLong();
        return store.execute(command).whenComplete((answer, failure) -> {
            long now = nanoTime.getAsLong();
            record(of(commands, StoreCommand.of(command.getClass())), now - began);
            if (command instanceof Acquire asked) {
                record(of(acquire, AcquireOutcome.of(answer, failure)), now - began);
                if (answer instanceof Answer.Queued) {
                    waits.began(new LockRequest(asked.lock(), asked.request().id()), now);
                }
            }
            if (answer instanceof Answer.Granted lease) {
                granted(lease.grant(), now);
            }
        });
    }

    /** Counts a grant once, however often its request is repeated. */
    private void granted(Grant grant, long now) {
        of(offered, grant.mode()).ended(grant.id(), now);
        if (leases.began(grant.id(), now)) {
            of(granted, grant.mode()).increment();
        }
    }

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        return timed(StoreCommand.HISTORY, () -> store.history(lock));
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        return timed(StoreCommand.LIST, () -> store.list(prefix, after, locksMax));
    }

    private <T> CompletionStage<T> timed(StoreCommand command, Supplier<CompletionStage<T>> look) {
        long began = nanoTime.getAsLong();
        return look.get().whenComplete((any, failure) -> record(of(commands, command), nanoTime.getAsLong() - began));
    }

    @Override
    public void together(Runnable asks) {
        store.together(asks);
    }

    @Override
    public long nowMillis() {
        return store.nowMillis();
    }

    @Override
    public Optional<StoreFailure> standby() {
        return store.standby();
    }

    @Override
    public boolean mayLosePast() {
        return store.mayLosePast();
    }

    @Override
    public boolean isRecovering() {
        return store.isRecovering();
    }

    @Override
    public StoreStatus status() {
        return store.status();
    }

    @Override
    public void listen(Listener listener) {
        store.listen(new Listener() {
            /** Touched by one thread at a time. */
            private int changes;

            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
                changes++;
                events.forEach(event -> happened(next, event));
                listener.changed(next, events, decidedAtMillis);
            }

            @Override
            public void told() {
                if (changes > 0) {
                    batches.record(changes);
                    changes = 0;
                }
                listener.told();
            }

            @Override
            public void deposed(StoreFailure why) {
                listener.deposed(why);
            }

            @Override
            public void takeoverEnded() {
                listener.takeoverEnded();
            }
        });
    }

    private void happened(LockState next, LockEvent event) {
        LockName lock = next.name();
        if (event instanceof LockEvent.Offered offer) {
            long now = nanoTime.getAsLong();
            offers.increment();
            waited(new LockRequest(lock, offer.request()), WaitEnding.OFFERED, now);
            next.promised(offer.request())
                    .ifPresent(grant -> of(offered, grant.mode()).beganAgain(grant.id(), now));
        } else if (event instanceof LockEvent.Ended over && over.tombstone().end() != End.BUSY) {
            ended(lock, over.tombstone());
        }
    }

    private void waited(LockRequest request, WaitEnding end, long now) {
        waits.ended(request, now).ifPresent(nanos -> record(of(wait, end), nanos));
    }

    private void ended(LockName lock, Tombstone tombstone) {
        LeaseEnd end = LeaseEnd.of(tombstone.end());
        long now = nanoTime.getAsLong();
        waited(new LockRequest(lock, tombstone.request()), WaitEnding.of(tombstone.end()), now);
        for (Mode mode : Mode.values()) {
            OptionalLong sinceOffer = of(offered, mode).ended(tombstone.grant(), now);
            if (sinceOffer.isPresent() && end == LeaseEnd.RELEASED) {
                of(granted, mode).increment();
                record(of(hold, end), sinceOffer.getAsLong());
            }
        }
        if (end != null) {
            of(ended, end).increment();
            leases.ended(tombstone.grant(), now).ifPresent(nanos -> record(of(hold, end), nanos));
        }
    }

    private static <E, M> M of(Map<E, M> meters, E label) {
        return Objects.requireNonNull(meters.get(label));
    }

    private static void record(Timer timer, long nanos) {
        timer.record(nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        store.close();
    }
}
