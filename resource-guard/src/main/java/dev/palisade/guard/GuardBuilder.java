package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Texts;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.core.RefusalCounters;
import dev.palisade.guard.mark.MarkStore;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** How a {@link Guard} is made. Not safe for use by several threads. */
public final class GuardBuilder {
    /** How long a call waits at most unless told otherwise. */
    public static final Duration WAIT_DEFAULT = Duration.ofSeconds(5);

    /** After what time a call that was lost sight of counts as ended unless told otherwise. */
    public static final Duration UNKNOWN_ENDS_AFTER_DEFAULT = Duration.ofSeconds(30);

    /** How many marks are kept at most unless told otherwise. */
    public static final int MARKS_MAX_DEFAULT = 100_000;

    /** How many calls wait at most unless told otherwise. */
    public static final int WAITING_MAX_DEFAULT = 10_000;

    final SequencerVerifier verifier;
    final MarkStore marks;

    @Nullable
    LockService lockService;

    Duration waitMax = WAIT_DEFAULT;
    Duration unknownEndsAfter = UNKNOWN_ENDS_AFTER_DEFAULT;
    int marksMax = MARKS_MAX_DEFAULT;
    int waitingMax = WAITING_MAX_DEFAULT;
    boolean observeOnly;
    List<String> protecting = List.of();
    Consumer<String> eventLines = RefusalCounters::log;

    @Nullable
    Executor executor;

    @Nullable
    Time time;

    GuardBuilder(SequencerVerifier verifier, MarkStore marks) {
        this.verifier = verifier;
        this.marks = marks;
    }

    /**
     * Whom to ask for base marks when the mark store is new or was lost, for {@link Check#ONLINE}, and for the registration
     * of {@link #protecting}. Without one, a guard whose store is not complete refuses every call with MARK_UNAVAILABLE, and a
     * second guard of the same data is not noticed.
     */
    public GuardBuilder lockService(LockService lockService) {
        this.lockService = lockService;
        return this;
    }

    /**
     * Names of the data that this guard protects, such as {@code "orders-files"}. While it lives the guard holds the lock
     * {@code palisade/guards/NAME}, and a second guard that protects the same name with marks of its own refuses every call.
     * Not the names of locks: services that protect different data under one lock have different names. Unless given, a
     * {@code GuardInterceptor} uses the full names of its services. Needs a {@link #lockService}.
     *
     * @param names 1 to 200 bytes each, without control characters
     * @throws RejectedException MALFORMED_REQUEST, naming what is wrong with a name
     */
    public GuardBuilder protecting(String... names) {
        protecting = Arrays.stream(names).map(GuardBuilder::checkedName).toList();
        return this;
    }

    static String checkedName(String name) {
        return Texts.checked("name of what a guard protects", name, 1, 200);
    }

    /**
     * How long a call waits at most, for marks to become durable and for older calls to end; then it is refused as DRAINING.
     *
     * @param wait 1 ms to 1 h; default {@link #WAIT_DEFAULT}
     */
    public GuardBuilder waitAtMost(Duration wait) {
        waitMax = within("waitAtMost", wait, Duration.ofMillis(1), Duration.ofHours(1));
        return this;
    }

    /**
     * The operator's promise &#916;: no backend applies a call later than this after the guard lost sight of it (a timeout, a broken
     * connection, a kill of the guard). After a start of the guard that no orderly close preceded every call waits that
     * long, so it is also what a crash of the guard costs. Too short breaks the promise that stale calls are refused.
     *
     * @param time 0 to 1 h; default {@link #UNKNOWN_ENDS_AFTER_DEFAULT}. 0 only where the end of a call's connection is its end
     */
    public GuardBuilder unknownEndsAfter(Duration time) {
        unknownEndsAfter = within("unknownEndsAfter", time, Duration.ZERO, Duration.ofHours(1));
        return this;
    }

    /**
     * How many marks are kept at most, a few hundred bytes each. With more resources than that, the oldest grants' marks give
     * way, and holders of such grants are refused as stale and have to acquire again.
     *
     * @param marks 256 to 10,000,000; default {@link #MARKS_MAX_DEFAULT}
     */
    public GuardBuilder marksMax(int marks) {
        marksMax = within("marksMax", marks, 256, 10_000_000);
        return this;
    }

    /**
     * How many calls wait at most; more are refused with LIMIT_EXCEEDED.
     *
     * @param calls 1 to 1,000,000; default {@link #WAITING_MAX_DEFAULT}
     */
    public GuardBuilder waitingMax(int calls) {
        waitingMax = within("waitingMax", calls, 1, 1_000_000);
        return this;
    }

    /**
     * Lets everything in at once, and only counts what it would refuse: {@link GuardStats#wouldRefuse}. Protects nothing. For
     * finding out who comes without a sequencer before the guard is turned on.
     */
    public GuardBuilder observeOnly() {
        observeOnly = true;
        return this;
    }

    /**
     * Runs what follows on a call that had to wait: its future's continuations, an interceptor's handler. These may
     * block, so the default starts threads as needed. A call that need not wait is never moved to another thread.
     */
    public GuardBuilder executor(Executor executor) {
        this.executor = executor;
        return this;
    }

    /** Clocks and alarms other than the machine's: for tests. */
    GuardBuilder time(Time time) {
        this.time = time;
        return this;
    }

    /** Where operators are told in place of the log: for tests. */
    GuardBuilder eventLines(Consumer<String> lines) {
        this.eventLines = lines;
        return this;
    }

    /**
     * Opens the mark store and the guard.
     *
     * @throws RejectedException MARK_UNAVAILABLE, when the store is damaged or another process has it
     */
    public Guard build() {
        return new Guard(this);
    }

    /** Threads as needed, which end a minute after their last call. */
    static Executor threads() {
        AtomicInteger number = new AtomicInteger();
        return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.MINUTES, new SynchronousQueue<>(), run -> {
            Thread thread = new Thread(run, "palisade-guard-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
    }

    private static Duration within(String what, Duration value, Duration least, Duration most) {
        if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
            throw new IllegalArgumentException(what + " " + value + " is not within " + least + " to " + most);
        }
        return value;
    }

    private static int within(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(what + " " + value + " is not within " + least + " to " + most);
        }
        return value;
    }
}
