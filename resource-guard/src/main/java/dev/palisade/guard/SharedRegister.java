package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.RegisterStore.FailedException;
import dev.palisade.guard.RegisterStore.Work;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * The store of {@link MarkStore#shared(DataSource, Duration)}: the marks, and the register of running calls, of all guards that
 * share it. It keeps nothing in memory that could admit a call, and gives each step a transaction of its own.
 *
 * <p>The guard has a lease here, measured on its own clock from before each renewal was sent. Other guards measure it on
 * theirs, from after they saw the newest renewal: no clock of the database, and no step of one, ends a lease.
 */
final class SharedRegister extends MarkStore {
    /** What a guard tells its register about itself. */
    record Member(
            LongSupplier nanos, Duration unknownOutcomeTimeout, boolean takesOver, String owner, Operator operator) {}

    /** Reports to an operator. */
    interface Operator {
        void warn(String event, String message);
    }

    /** Steps that run at the same time, each on a connection of its own. */
    private static final int THREADS = 4;

    private record Seen(long beats, long sinceNanos, boolean reported) {}

    private final RegisterStore store;
    private final int seconds;
    private final Duration lease;
    private final AtomicLong numbers = new AtomicLong();
    private final Map<String, Seen> seen = new HashMap<>();
    private volatile Consumer<String> left = resource -> {};
    private @Nullable Member member;
    private @Nullable ExecutorService steps;
    private @Nullable ExecutorService renewals;
    private RegisterStore.@Nullable Joined found;
    private volatile long renewedNanos;
    private volatile @Nullable RejectedException lost;

    /** Touches nothing before {@link #open}. */
    private SharedRegister(RegisterStore store, Duration lease, int seconds) {
        this.store = store;
        this.lease = lease;
        this.seconds = seconds;
    }

    /**
     * In a database.
     *
     * @param listening null: waiting calls poll
     */
    static SharedRegister of(
            DataSource dataSource, Duration lease, Duration statementTimeout, @Nullable DataSource listening) {
        requireRange(lease);
        int seconds = (int) Math.max(1, Math.min(statementTimeout.toSeconds(), lease.toSeconds() / 2));
        return new SharedRegister(new JdbcRegister(dataSource, listening, seconds), lease, seconds);
    }

    /** In the fields of another store. */
    static SharedRegister of(SharedFields fields, Duration lease) {
        requireRange(lease);
        return new SharedRegister(new FieldRegister(fields), lease, (int) STATEMENT_TIMEOUT_DEFAULT.toSeconds());
    }

    private static void requireRange(Duration lease) {
        if (lease.compareTo(Duration.ofSeconds(1)) < 0 || lease.compareTo(Duration.ofMinutes(5)) > 0) {
            throw new IllegalArgumentException("guard lease " + lease + " is not within 1 s to 5 min");
        }
    }

    /** Called once, before {@link #open}. */
    void join(Member member) {
        if (this.member != null) {
            throw new IllegalStateException("a mark store is opened once; make another with MarkStore.shared");
        }
        this.member = member;
    }

    @Override
    KeptMarks open() {
        Member self = joined();
        renewedNanos = self.nanos().getAsLong();
        RegisterStore.Joined opened = store.join(self, lease.toMillis(), resource -> left.accept(resource));
        found = opened;
        steps = threads("palisade-register", THREADS);
        renewals = threads("palisade-register-lease", 1);
        return opened.kept();
    }

    /** Has {@code left} called as {@link RegisterStore#join} says. */
    void onLeave(Consumer<String> newLeft) {
        left = newLeft;
    }

    private RegisterStore.Joined found() {
        return opened(found);
    }

    /** Identity of this guard in the register. */
    String guard() {
        return store.guard();
    }

    /** A number that no other call of this guard has. */
    long nextNumber() {
        return numbers.incrementAndGet();
    }

    /** The epoch at {@link #open}. */
    long openedEpoch() {
        return found().state().epoch();
    }

    /** The waiting period of a register that is not settled at {@link #open}; at least &#916;. */
    long waitNanos() {
        return TimeUnit.MILLISECONDS.toNanos(found().state().waitMillis());
    }

    /** Whether there was neither a mark nor a base mark at {@link #open}. */
    boolean wasEmpty() {
        return found().empty();
    }

    long leaseNanos() {
        return lease.toNanos();
    }

    /** Whether the guard's lease lasts: no other guard can have taken over its calls, and no other may count on their end. */
    boolean isLeaseValid() {
        return failure().isEmpty() && joined().nanos().getAsLong() - renewedNanos < lease.toNanos();
    }

    /** The guard's row is gone: its calls count as ended for others. */
    private void shutOut() {
        if (lost == null) {
            lost = Unavailable.because("another guard, or an operator, has ended this guard's entries in the shared"
                    + " register, because its lease was not renewed in time; it admits nothing more and stops its calls:"
                    + " start it again");
        }
    }

    /** Where steps run; they block. */
    void execute(Runnable step) {
        opened(steps).execute(step);
    }

    /** One atomic step; blocks. */
    <T> T transact(Work<T> work) throws FailedException {
        return store.transact(work);
    }

    private <T> T now(Work<T> work) {
        try {
            return transact(work);
        } catch (FailedException e) {
            throw unavailable(e);
        }
    }

    private <T> CompletionStage<T> later(ExecutorService threads, Work<T> work) {
        return CompletableFuture.supplyAsync(() -> now(work), threads);
    }

    static RejectedException unavailable(Throwable failure) {
        Throwable cause =
                failure instanceof FailedException && failure.getCause() != null ? failure.getCause() : failure;
        return cause instanceof RejectedException rejected
                ? rejected
                : Unavailable.because(
                        "the shared register cannot be read or written (" + Unavailable.oneLine(cause)
                                + "); nothing was applied: is the database up, are the tables there"
                                + " (MarkStore.createTables) and writable? then try again",
                        cause);
    }

    /** Renews the guard's lease, and looks after the leases of the others. Fails when the register is closed. */
    @Override
    CompletionStage<Void> confirm() {
        long askedNanos = joined().nanos().getAsLong();
        try {
            return CompletableFuture.runAsync(() -> renew(askedNanos), opened(renewals));
        } catch (RejectedExecutionException closed) { // The last steps end after close has stopped renewals.
            return CompletableFuture.failedFuture(closed);
        }
    }

    private void renew(long askedNanos) {
        if (lost == null && !now(rows -> rows.renew(guard()))) {
            shutOut();
        }
        RejectedException shutOut = lost;
        if (shutOut != null) {
            throw shutOut;
        }
        renewedNanos = askedNanos;
        opened(renewals).execute(this::observeOthers);
    }

    private void observeOthers() {
        try {
            long now = joined().nanos().getAsLong();
            AtomicLong deltaMillis = new AtomicLong();
            List<RegisterRows.GuardRow> guards = transact(rows -> {
                deltaMillis.set(rows.state().deltaMillis());
                return rows.guards();
            });
            long after = joined().nanos().getAsLong();
            seen.keySet()
                    .retainAll(guards.stream().map(RegisterRows.GuardRow::id).toList());
            for (RegisterRows.GuardRow other : guards) {
                if (!other.id().equals(guard())) {
                    observe(other, deltaMillis.get(), now, after);
                }
            }
        } catch (FailedException e) {
            // Seen with the next renewal.
        }
    }

    /**
     * @param now before the row was read
     * @param after when it was read
     */
    private void observe(RegisterRows.GuardRow other, long deltaMillis, long now, long after) throws FailedException {
        Seen before = seen.get(other.id());
        if (before == null || before.beats() != other.beats()) {
            seen.put(other.id(), new Seen(other.beats(), after, false));
            return;
        }
        Member self = joined();
        long silentMillis = TimeUnit.NANOSECONDS.toMillis(now - before.sinceNanos());
        if (silentMillis < other.leaseMillis() + deltaMillis) {
            return;
        }
        String who = "guard " + other.id() + " (" + other.owner() + ") has not renewed its lease for " + silentMillis
                + " ms and " + (other.calls() < 0 ? "may have calls" : "has " + other.calls() + " calls")
                + " in the shared register; ";
        if (!self.takesOver()) {
            if (!before.reported() && other.calls() != 0) {
                seen.put(other.id(), new Seen(other.beats(), before.sinceNanos(), true));
                self.operator()
                        .warn(
                                "guard_silent",
                                who + "their resources stay closed to other grants: once its process has ended, and "
                                        + deltaMillis
                                        + " ms later, run " + store.commandToEnd(other.id()));
            }
        } else if (transact(rows -> rows.deleteGuard(other.id(), other.beats()))) {
            self.operator().warn("guard_taken_over", who + "they count as ended now");
        }
    }

    @Override
    Optional<Rejection> failure() {
        if (lost == null) {
            store.end().ifPresent(why -> lost = Unavailable.because(why));
        }
        return Optional.ofNullable(lost).map(RejectedException::rejection);
    }

    @Override
    boolean isHeldForLife() {
        return false;
    }

    @Override
    boolean isShared() {
        return true;
    }

    @Override
    String id() {
        return found().marksId();
    }

    @Override
    CompletionStage<Void> forgetMarks() {
        return later(opened(steps), rows -> {
                    rows.raiseEpoch();
                    return true;
                })
                .thenAccept(done -> {});
    }

    @Override
    CompletionStage<Void> putRegistration(String name, long token) {
        return later(opened(steps), rows -> {
                    rows.putRegistration(name, token);
                    return true;
                })
                .thenAccept(done -> {});
    }

    @Override
    CompletionStage<Optional<Long>> registration(String name) {
        return later(opened(steps), rows -> rows.registration(name));
    }

    @Override
    CompletionStage<Void> put(StoredMark mark) {
        throw new IllegalStateException("a shared register keeps marks in the steps of its calls");
    }

    @Override
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped) {
        throw new IllegalStateException("a shared register keeps base marks in steps of its own");
    }

    /** Without {@code inOrder} the guard's entries stay: whether its calls have ended is not known. */
    @Override
    void close(boolean inOrder) {
        ExecutorService running = steps;
        if (running == null) {
            return;
        }
        store.close();
        running.shutdown();
        opened(renewals).shutdown();
        try {
            var unused = running.awaitTermination(2L * seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (inOrder) {
            try {
                var unused = transact(rows -> rows.deleteGuard(guard()));
            } catch (FailedException e) {
                joined().operator()
                        .warn("guard_not_signed_off", unavailable(e).rejection().message());
            }
        }
    }

    private Member joined() {
        Member joined = member;
        if (joined == null) {
            throw new IllegalStateException("a shared register is opened by Guard.Builder.build");
        }
        return joined;
    }

    private static <T> T opened(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a mark store is opened before it is used");
        }
        return value;
    }

    private static ExecutorService threads(String name, int count) {
        AtomicInteger number = new AtomicInteger();
        return Executors.newFixedThreadPool(count, run -> {
            Thread thread = new Thread(run, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
    }
}
