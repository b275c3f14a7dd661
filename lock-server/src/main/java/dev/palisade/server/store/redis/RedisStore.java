package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockPage;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.Poll;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import dev.palisade.server.core.Tombstones;
import dev.palisade.server.core.Waiter;
import dev.palisade.server.store.AFew;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks in Redis, shared by any number of servers. Every command is one call of one function, which decides it in Redis; what
 * is kept here are the requests that wait and were sent from here, and what tokens are known. Never blocks.
 */
public final class RedisStore implements LockStore {
    private static final Logger LOG = LoggerFactory.getLogger(RedisStore.class);
    /** A command is repeated so often when the epoch of its domain had to be put in order first. */
    private static final int REPEATS = 3;

    /** Calls of one keep-alive: some ten milliseconds in which others wait. */
    private static final int RENEWALS_AT_A_TIME = 16;

    private static final long TICK_MILLIS = 250;
    private static final int DOMAINS_PER_TICK = 32;
    private static final int DUE_MAX = 200;
    private static final int OPEN_SECONDS = 30;

    private final RedisLink link;
    private final Limits limits;
    private final Epochs epochs;
    private final WaitingHere waiting = new WaitingHere();
    private final LongSupplier nowMillis;
    private final ScheduledExecutorService timer;
    private final byte[] settings;
    /** Whether the keys of two domains may be on two nodes. */
    private final boolean spread;

    private final String channel;
    private final AtomicInteger inFlight = new AtomicInteger();
    private final CompletableFuture<@Nullable Void> answered = new CompletableFuture<>();
    private final long timeoutMillis;
    private final AtomicBoolean tellingLater = new AtomicBoolean();
    private volatile @Nullable Listener listener;
    private volatile boolean closed;
    private int nextDomain;
    private long nextPollMillis;

    /**
     * Connects, and puts the epochs in order. Blocks meanwhile; not for {@code loop}.
     *
     * @param loop what the store does with Redis, and whoever it answers, is on this thread; it outlives the store
     * @param nowMillis milliseconds since 1970 that never go back
     * @param timer runs what is due; used for short tasks only
     */
    public static RedisStore open(
            RedisStoreConfig config,
            Loop loop,
            Limits limits,
            LongSupplier nowMillis,
            ScheduledExecutorService timer,
            RandomGenerator random,
            EventLog events)
            throws StoreUnusable, InterruptedException {
        return open(config, Library.load(), loop, limits, nowMillis, timer, random, events);
    }

    static RedisStore open(
            RedisStoreConfig config,
            FunctionLibrary library,
            Loop loop,
            Limits limits,
            LongSupplier nowMillis,
            ScheduledExecutorService timer,
            RandomGenerator random,
            EventLog events)
            throws StoreUnusable, InterruptedException {
        RedisLink link = RedisLink.open(config.link(), library, loop, events);
        RedisStore store = new RedisStore(link, config, limits, nowMillis, timer, random, events);
        boolean opened = false;
        try {
            store.refuseUnusable(config);
            store.epochs.openFirst(config.init()).get(OPEN_SECONDS, TimeUnit.SECONDS);
            opened = true;
            return store;
        } catch (ExecutionException | TimeoutException e) {
            throw new StoreUnusable("the epochs of Redis " + config.link().uri() + " cannot be read (" + rootMessage(e)
                    + "); try again");
        } finally {
            if (!opened) {
                store.close();
            }
        }
    }

    private void refuseUnusable(RedisStoreConfig config)
            throws StoreUnusable, InterruptedException, ExecutionException, TimeoutException {
        List<Object> reply = link.call(
                        "palisade_rights",
                        List.of(epochs.domains().get(0).token),
                        List.of(CommandWords.text(config.prefix())))
                .get(OPEN_SECONDS, TimeUnit.SECONDS);
        List<String> missing = FunctionAnswer.list(reply.get(2)).stream()
                .map(FunctionAnswer::string)
                .toList();
        if (!missing.isEmpty()) {
            throw new StoreUnusable("Redis " + config.link().uri() + " does not let this user do "
                    + String.join(" ", missing)
                    + "; give it these rights on the keys " + config.prefix() + ":* and the channels " + config.prefix()
                    + ":*");
        }
        if (FunctionAnswer.number(reply.get(3)) == 1) {
            throw new StoreUnusable(
                    "Redis " + config.link().uri() + " has a log of servers with --machine log under the keys "
                            + config.prefix() + ":*; use --machine log, or another --store-prefix");
        }
    }

    private RedisStore(
            RedisLink link,
            RedisStoreConfig config,
            Limits limits,
            LongSupplier nowMillis,
            ScheduledExecutorService timer,
            RandomGenerator random,
            EventLog events) {
        this.link = link;
        this.limits = limits;
        this.spread = config.link().uri().kind() == StoreUri.Kind.CLUSTER;
        this.timeoutMillis = config.link().timeout().toMillis();
        this.nowMillis = nowMillis;
        this.timer = timer;
        this.epochs = new Epochs(link, config, nowMillis, random, events);
        byte[] name = new byte[8];
        random.nextBytes(name);
        String home = HexFormat.of().formatHex(name);
        this.channel = config.prefix() + ":server:" + home;
        this.settings = CommandWords.text(limits.offerMillis() + " " + limits.waitersPerLockMax() + " "
                + limits.holdersPerLockMax() + " " + limits.acquireAgeMaxMillis() + " " + home);
    }

    @Override
    public void listen(Listener hears) {
        listener = hears;
        link.subscribe(channel, this::hear);
        var unused =
                timer.scheduleWithFixedDelay(() -> safely(this::tick), TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public long nowMillis() {
        return nowMillis.getAsLong();
    }

    @Override
    public boolean mayLosePast() {
        return true;
    }

    @Override
    public int domainOf(LockName lock) {
        return lock.domain();
    }

    @Override
    public StoreStatus status() {
        LinkState state = link.state();
        long now = nowMillis();
        return new StoreStatus(
                "redis",
                state.primary(),
                state.version().isEmpty() ? "" : state.version() + ", replication id " + state.replicationId(),
                state.up() && !closed && epochs.moved().isEmpty(),
                now - state.since().toMillis(),
                epochs.moved().isEmpty() ? state.lastFailure() : epochs.moved(),
                Domain.COUNT,
                epochs.told(now));
    }

    /** What was sent to Redis is answered first, as long as Redis answers. Waits for that; not for the loop. */
    @Override
    public void close() {
        closed = true;
        if (inFlight.get() == 0) {
            answered.complete(null);
        }
        try {
            answered.get(timeoutMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            // Redis does not answer; whoever waits is told that the outcome is unknown.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        link.close();
    }

    // ---- commands

    @Override
    public CompletionStage<Answer> execute(Command command) {
        return execute(command, true);
    }

    @Override
    public CompletionStage<List<Renew>> renew(List<Renew> leases) {
        Queue<Renew> left = new ConcurrentLinkedQueue<>();
        return AFew.at(RENEWALS_AT_A_TIME, Renewals.of(leases, epochs::of, settings, spread), call -> {
                    if (begin() != null) {
                        left.addAll(call.leases);
                        return CompletableFuture.completedFuture(left);
                    }
                    return link.call(Renewals.FUNCTION, call.keys, call.args)
                            .thenApply(call::left)
                            .exceptionally(failure -> call.leases)
                            .thenAccept(left::addAll)
                            .whenComplete((any, failure) -> end());
                })
                .thenApply(all -> List.copyOf(left));
    }

    /** Something is to be sent: {@link #end} is called after its answer. Null, or why it cannot be sent. */
    private @Nullable StoreFailure begin() {
        if (closed) {
            return StoreFailure.unavailable("the lock server is stopping; try another or later");
        }
        if (inFlight.incrementAndGet() > RedisStoreConfig.IN_FLIGHT_MAX) {
            inFlight.decrementAndGet();
            return StoreFailure.unavailable(
                    "more than " + RedisStoreConfig.IN_FLIGHT_MAX + " commands are on their way to Redis; try later");
        }
        return null;
    }

    private void end() {
        if (inFlight.decrementAndGet() == 0 && closed) {
            answered.complete(null);
        }
    }

    /** @param asked by a client; what the store asks by itself ends no wait before its client is told */
    private CompletableFuture<Answer> execute(Command command, boolean asked) {
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        StoreFailure refused = begin();
        if (refused != null) {
            answer.completeExceptionally(refused);
            return answer;
        }
        if (command instanceof CheckSequencer check) {
            learn(check.lock(), check.token().value());
        } else if (command instanceof Reclaim reclaim) {
            learn(reclaim.lock(), reclaim.token().value());
        }
        send(command, asked, answer, REPEATS);
        return answer.whenComplete((done, failure) -> end());
    }

    /** Only what is authentic comes here: a floor must not move on anything else. */
    private void learn(LockName lock, long token) {
        if (!epochs.of(lock).known(token, nowMillis())) {
            LOG.warn(
                    "a sequencer of lock {} has token {}, further ahead than any clock is wrong; ignored", lock, token);
        }
    }

    private void send(Command command, boolean asked, CompletableFuture<Answer> answer, int repeats) {
        Domain domain = epochs.of(command.lock());
        long openings = epochs.openings();
        long sent = nowMillis();
        Reply called = link.call(
                CommandWords.function(command),
                domain.keys(command.lock()),
                CommandWords.of(command, settings, domain.floor(), RedisStoreConfig.ALIVE_MILLIS));
        var unused = called.whenComplete((reply, failure) -> {
            if (failure != null) {
                answer.completeExceptionally(failure);
            } else if (!FunctionAnswer.isSuspect(reply)) {
                FunctionAnswer told = new FunctionAnswer(command.lock(), reply, sent);
                decided(told, domain, answer, decided -> {
                    if (asked) {
                        keepWaiting(command, decided, sent);
                    }
                });
            } else if (repeats == 0) {
                answer.complete(suspect(command, FunctionAnswer.suspicion(reply)));
            } else if (epochs.openings() != openings) {
                send(command, asked, answer, repeats - 1);
            } else {
                putInOrder(called, command, asked, answer, repeats);
            }
        });
    }

    private void putInOrder(
            Reply suspected, Command command, boolean asked, CompletableFuture<Answer> answer, int repeats) {
        var unused = epochs.open(suspected).whenComplete((opened, failure) -> {
            if (failure == null && epochs.of(command.lock()).isExhausted()) {
                answer.complete(new Answer.Refused(new Rejection(
                        Reason.TOKENS_EXHAUSTED,
                        "no fencing token is left below 2^53; this store can grant no more",
                        Map.of(Rejection.LOCK, command.lock().value()))));
            } else if (failure == null) {
                send(command, asked, answer, repeats - 1);
            } else if (!epochs.moved().isEmpty()) {
                answer.completeExceptionally(StoreFailure.unavailable(epochs.moved()));
            } else {
                answer.complete(suspect(command, rootMessage(failure)));
            }
        });
    }

    private static Answer suspect(Command command, String why) {
        return new Answer.Refused(new Rejection(
                Reason.SUSPECT_PRIMARY,
                "this Redis may not be the primary any more (" + why + "); try again",
                Map.of(
                        Rejection.LOCK, command.lock().value(),
                        Rejection.APPLIED, "no",
                        Rejection.RETRY_AFTER_MILLIS, "500")));
    }

    private void decided(
            FunctionAnswer told, Domain domain, CompletableFuture<Answer> future, Consumer<Answer> beforeItIsTold) {
        Answer answer;
        FunctionAnswer.Changes changes;
        try {
            answer = told.answer();
            changes = told.changes();
        } catch (RuntimeException e) {
            LOG.error("Redis answered what this server does not understand", e);
            future.completeExceptionally(
                    StoreFailure.outcomeUnknown("Redis answered what this server does not understand (" + e
                            + "); is its library of a later release?"));
            return;
        }
        learnIssued(domain, answer, changes);
        beforeItIsTold.accept(answer);
        future.complete(answer);
        tell(changes);
    }

    private static void learnIssued(Domain domain, Answer answer, FunctionAnswer.Changes changes) {
        if (answer instanceof Answer.Granted granted) {
            domain.issued(granted.grant().token().value());
        } else if (answer instanceof Answer.Raised raised) {
            domain.issued(raised.barrier().value());
        }
        changes.state().offers().forEach(offer -> domain.issued(offer.token().value()));
    }

    private void keepWaiting(Command command, Answer answer, long sent) {
        if (command instanceof Acquire acquire && answer instanceof Answer.Queued) {
            waiting.waits(acquire, sent);
        } else if (answer instanceof Answer.Granted granted) {
            waiting.isOver(
                    new LockRequest(command.lock(), granted.grant().request().id()));
        } else if (command instanceof Leave leave && answer instanceof Answer.Left) {
            waiting.isOver(new LockRequest(leave.lock(), leave.request()));
        }
    }

    // ---- telling

    private void tell(FunctionAnswer.Changes changes) {
        Listener hears = listener;
        if (hears == null) {
            return;
        }
        List<LockEvent> events = new ArrayList<>(changes.events().size());
        for (LockEvent event : changes.events()) {
            if (isOurs(changes.state().name(), event)) {
                events.add(event);
            }
        }
        if (!events.isEmpty()) {
            safely(() -> hears.changed(changes.state(), events, changes.atMillis()));
        }
        // Once for everything that came with the same read.
        if (tellingLater.compareAndSet(false, true)) {
            link.later(() -> {
                tellingLater.set(false);
                safely(hears::told);
            });
        }
    }

    /** An offer is told by the server that its waiter waits at; what else there is, by whoever brought it about. */
    private boolean isOurs(LockName lock, LockEvent event) {
        if (event instanceof LockEvent.Ended ended) {
            waiting.isOver(new LockRequest(lock, ended.tombstone().request()));
        } else if (event instanceof LockEvent.Offered offered) {
            WaitingHere.@Nullable Waiting mine = waiting.of(new LockRequest(lock, offered.request()));
            return mine != null && mine.isNews(offered.token().value());
        }
        return true;
    }

    /** Another server did something to a request of ours. */
    private void hear(byte[] message) {
        safely(() -> {
            List<Object> fields = NetStrings.of(message);
            LockName lock = new LockName(FunctionAnswer.string(fields.get(0)));
            List<Object> event = fields.subList(2, fields.size());
            RequestId request = FunctionAnswer.request(FunctionAnswer.bytes(event.get(1)));
            WaitingHere.@Nullable Waiting mine = waiting.of(new LockRequest(lock, request));
            boolean offered = FunctionAnswer.string(event.get(0)).equals("Offered");
            if (offered && mine == null) {
                return; // No longer.
            }
            long notBefore = mine == null ? nowMillis() : mine.waitedAtMillis;
            FunctionAnswer told = new FunctionAnswer(
                    lock, List.of(List.of(), FunctionAnswer.number(fields.get(1)), List.of(event)), notBefore);
            tell(told.changes());
        });
    }

    // ---- what is due

    private void tick() {
        if (closed) {
            return;
        }
        for (int i = 0; i < DOMAINS_PER_TICK; i++) {
            sweep(epochs.domains().get(nextDomain));
            nextDomain = (nextDomain + 1) % Domain.COUNT;
        }
        if (nowMillis() >= nextPollMillis) {
            nextPollMillis = nowMillis() + limits.offerMillis() / 4;
            waiting.all().forEach(this::poll);
        }
    }

    /** Time has ended something, or a lock is to be forgotten. Several servers may look; the function decides. */
    private void sweep(Domain domain) {
        var unused = link.call(
                        "palisade_due", List.of(domain.due), List.of(CommandWords.text(Integer.toString(DUE_MAX))))
                .thenAccept(reply -> {
                    for (Object name : FunctionAnswer.list(reply.get(2))) {
                        var unusedAnswer = execute(new Expire(new LockName(FunctionAnswer.string(name))));
                    }
                })
                .exceptionally(failure -> null); // Again at the next turn.
    }

    private void poll(WaitingHere.Waiting mine) {
        if (mine.polled) {
            return; // The last one is still on its way.
        }
        mine.polled = true;
        long sent = nowMillis();
        Poll poll = new Poll(mine.acquire.lock(), mine.acquire.request().id(), sent + RedisStoreConfig.ALIVE_MILLIS);
        var unused = execute(poll, false).whenComplete((answer, failure) -> {
            mine.polled = false;
            if (failure == null) {
                safely(() -> polled(mine, answer, sent));
            }
        });
    }

    private void polled(WaitingHere.Waiting mine, Answer answer, long sent) {
        LockRequest request =
                new LockRequest(mine.acquire.lock(), mine.acquire.request().id());
        if (waiting.of(request) != mine) {
            return; // Over meanwhile.
        }
        if (answer instanceof Answer.Queued) {
            mine.waitedAtMillis = Math.max(mine.waitedAtMillis, sent);
        } else if (answer instanceof Answer.Promised promised) {
            tell(offered(mine, promised.grant()));
        } else if (answer instanceof Answer.Granted granted) {
            // Its client has it, through another server; or it was granted to what was asked below, and nobody has
            // heard of it.
            tell(offered(mine, granted.grant()));
            waiting.isOver(request);
        } else if (answer instanceof Answer.WaitEnded ended) {
            tell(ended(mine, ended.end(), sent));
        } else if (answer instanceof Answer.Refused refused
                && refused.rejection().reason() == Reason.NOT_HOLDER) {
            // The store lost it; its client waits on.
            long again = nowMillis();
            var unused = execute(mine.again(again), false).thenAccept(anew -> safely(() -> polled(mine, anew, again)));
        }
    }

    private static FunctionAnswer.Changes offered(WaitingHere.Waiting mine, Grant promised) {
        Waiter waiter =
                new Waiter(promised.request(), mine.waitedAtMillis, Long.MAX_VALUE, Long.MAX_VALUE, Waiter.Lapse.NONE);
        LockState state = new LockState(
                mine.acquire.lock(),
                List.of(),
                List.of(new Offer(waiter, promised.token(), promised.expiresAtMillis())),
                List.of(),
                Tombstones.NONE,
                0,
                0,
                0);
        return new FunctionAnswer.Changes(
                state,
                List.of(new LockEvent.Offered(promised.request().id(), promised.token(), promised.expiresAtMillis())),
                mine.waitedAtMillis);
    }

    private static FunctionAnswer.Changes ended(WaitingHere.Waiting mine, End end, long sent) {
        Tombstone tombstone = new Tombstone(
                mine.acquire.request().id(), mine.acquire.request().grant(), 0, end, sent, "");
        return new FunctionAnswer.Changes(
                LockState.unused(mine.acquire.lock(), 0), List.of(new LockEvent.Ended(tombstone, 0)), sent);
    }

    // ---- looking

    @Override
    public CompletionStage<List<HistoryEntry>> history(LockName lock) {
        Domain domain = epochs.of(lock);
        long sent = nowMillis();
        return link.call(
                        "palisade_history",
                        List.of(domain.lockKey(lock), domain.history),
                        List.of(CommandWords.text(lock.value())))
                .thenApply(reply -> {
                    long shift = sent - (Long) reply.get(1);
                    List<HistoryEntry> all = new ArrayList<>();
                    for (Object entry : FunctionAnswer.list(reply.get(2))) {
                        all.add(entry(FunctionAnswer.list(entry), shift));
                    }
                    markGaps(all, reply);
                    all.sort(Comparator.comparingLong(HistoryEntry::atMillis));
                    return List.copyOf(all.subList(Math.max(0, all.size() - HistoryEntry.LISTED_MAX), all.size()));
                });
    }

    /** A library of before does not say where entries are missing: they may be anywhere. */
    static void markGaps(List<HistoryEntry> entries, List<Object> reply) {
        if (reply.size() < 4) {
            entries.replaceAll(HistoryEntry::afterGap);
            return;
        }
        for (Object place : FunctionAnswer.list(reply.get(3))) {
            entries.set(
                    (int) FunctionAnswer.number(place) - 1,
                    entries.get((int) FunctionAnswer.number(place) - 1).afterGap());
        }
    }

    static HistoryEntry entry(List<Object> fields, long shiftMillis) {
        return new HistoryEntry(
                (Long) fields.get(0) + shiftMillis,
                HistoryEntry.What.valueOf(FunctionAnswer.string(fields.get(1))),
                (Long) fields.get(2),
                FunctionAnswer.grantId(fields.get(3)),
                FunctionAnswer.string(fields.get(4)),
                FunctionAnswer.string(fields.get(5)));
    }

    @Override
    public CompletionStage<LockPage> list(String prefix, String after, int locksMax) {
        if (!epochs.moved().isEmpty()) {
            return CompletableFuture.failedFuture(StoreFailure.unavailable(epochs.moved()));
        }
        return Listing.names(link, epochs.domains(), prefix, after, locksMax).thenCompose(page -> {
            List<CompletableFuture<Answer>> looks = page.names().stream()
                    .map(name -> execute(new Describe(name)).toCompletableFuture())
                    .toList();
            return CompletableFuture.allOf(looks.toArray(new CompletableFuture<?>[0]))
                    .thenApply(all -> new LockPage(inUse(looks), page.nextAfter(), nowMillis()));
        });
    }

    private List<LockState> inUse(List<CompletableFuture<Answer>> looks) {
        List<LockState> states = new ArrayList<>();
        for (CompletableFuture<Answer> look : looks) {
            if (look.join() instanceof Answer.Described described
                    && described.state().inUse(described.nowMillis())) {
                states.add(described.state());
            } else if (look.join() instanceof Answer.Refused refused) {
                throw StoreFailure.unavailable(refused.rejection().message());
            }
        }
        return states;
    }

    private static void safely(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException e) {
            LOG.error("a task of the store failed", e);
        }
    }

    private static String rootMessage(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }
}
