package dev.palisade.cli.run;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.watchdog.Message;
import dev.palisade.cli.watchdog.MessageChannel;
import dev.palisade.cli.watchdog.ProcessGroup;
import dev.palisade.cli.watchdog.Signals;
import dev.palisade.cli.watchdog.TerminationPolicy;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.LockDescription;
import dev.palisade.client.PalisadeClient;
import dev.palisade.client.ReleaseOutcome;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import io.grpc.Status;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Coordinator of one {@code palisade run}, from the acquire to the release: the watchdog controls the command, this
 * class controls the lease, and each terminates the command when the other has ended. One thread handles all events.
 * The lock is released only if no process of the command runs any more; otherwise the lease expires.
 */
final class RunCoordinator implements WatchdogProcess.Listener {
    private static final Duration NOTICE_DELAY_MAX = Duration.ofSeconds(1);
    private static final int NOTICE_SHARE = 5;
    private static final Duration WATCHDOG_MARGIN = Duration.ofSeconds(2);

    /** Shorter than the difference between the default lock-delay and {@code --kill-after}. */
    private static final Duration WATCHDOG_MARGIN_WHEN_LOST = Duration.ofMillis(500);

    private static final Duration SEARCH_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration WATCHDOG_START_TIMEOUT = Duration.ofSeconds(20);
    private static final String SEQUENCER = "PALISADE_SEQUENCER";
    private static final Map<String, Integer> SIGNAL_NUMBERS = Map.of("HUP", 1, "INT", 2, "TERM", 15);

    private final BlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
    private final Request request;
    private final RunOutput output;
    private final Supplier<Optional<String>> onlyStandbys;
    private @Nullable WatchdogProcess watchdog;
    private volatile @Nullable Lease lease;
    private volatile @Nullable MessageChannel channel;
    private boolean started;
    private boolean fallbackScheduled;
    private @Nullable ProcessGroup group;
    private @Nullable String signal;
    private boolean releaseWasRequested;
    private boolean lostReported;
    private boolean unreachableReported;
    private boolean released;
    private @Nullable Integer exit;
    private long timerNanos = Long.MAX_VALUE;
    private Runnable timerTask = () -> {};

    /**
     * The parameters of one run.
     *
     * @param waitIsBounded whether an unreachable server is retried until the wait ends
     * @param server addresses of the lock servers
     * @param timeout for the first reply of a server
     */
    record Request(
            String lock,
            AcquireOptions options,
            List<String> command,
            TerminationPolicy termination,
            boolean ignoresReleaseRequests,
            boolean waitIsBounded,
            String server,
            Duration timeout) {}

    /**
     * Delay before the first report about the holder. The rest of {@code timeout} is for the call that describes the
     * lock.
     */
    static Duration noticeAfter(Duration timeout) {
        Duration share = timeout.dividedBy(NOTICE_SHARE);
        return share.compareTo(NOTICE_DELAY_MAX) < 0 ? share : NOTICE_DELAY_MAX;
    }

    /** @param onlyStandbys blocks; the reason why no server will decide, if all are standbys of an unlisted server */
    RunCoordinator(Request request, RunOutput output, Supplier<Optional<String>> onlyStandbys) {
        this.request = request;
        this.output = output;
        this.onlyStandbys = onlyStandbys;
    }

    /** Returns the exit code. The client is closed only after a release; otherwise the lease must expire by itself. */
    int run(PalisadeClient client) throws InterruptedException {
        SIGNAL_NUMBERS
                .keySet()
                .forEach(name -> Signals.onSignal(name, received -> events.add(() -> onSignalled(received))));
        WatchdogProcess process;
        try {
            process = WatchdogProcess.start(this);
        } catch (IOException e) {
            output.print("cannot start the watchdog (" + e.getMessage()
                    + "); check that Java's folder for temporary files is writable");
            return ExitCodes.CANNOT_RUN;
        }
        watchdog = process;
        var acquiring = client.acquireAsync(request.lock(), request.options());
        var unused = acquiring.whenComplete((result, failure) -> events.add(() -> onAcquired(result, failure)));
        Duration notice = noticeAfter(request.timeout());
        Duration check = notice.dividedBy(3);
        schedule(check, () -> {
            checkStandbys();
            schedule(notice.minus(check), () -> describeHolder(client));
        });
        background("probe", this::probe);
        while (exit == null) {
            Runnable next = events.poll(Math.max(0, timerNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (next == null) {
                next = timerTask;
                timerNanos = Long.MAX_VALUE;
            }
            next.run();
        }
        process.deleteSocket();
        if (released) {
            client.close();
        }
        return exit;
    }

    // ---- acquire

    private void onAcquired(@Nullable AcquireResult result, @Nullable Throwable failure) {
        if (result instanceof AcquireResult.Granted granted) {
            onGranted(granted.lease());
        } else if (result instanceof AcquireResult.Busy busy) {
            output.printUnlessQuiet(output.busy(request.lock(), busy));
            exit = ExitCodes.BUSY;
        } else if (result instanceof AcquireResult.TimedOut) {
            exitWith(ExitCodes.TIMED_OUT, request.lock() + " was not granted within --wait; the command did not run");
        } else if (result instanceof AcquireResult.Unavailable unavailable) {
            String message = unavailable.rejection().message();
            boolean isRecovering = unavailable.rejection().reason() == Reason.RECOVERING;
            exitWith(code(unavailable.rejection()), isRecovering ? message + "; the command did not run" : message);
        } else {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof RejectedException refused) {
                exitWith(
                        code(refused.rejection()),
                        refused.rejection().reason() + ": "
                                + refused.rejection().message());
            } else {
                exitWith(ExitCodes.RUN_NO_ANSWER, String.valueOf(cause));
            }
        }
    }

    /** The exit code of a rejection: whether a server has decided, or could not decide yet. */
    private static int code(Rejection rejection) {
        boolean undecided = rejection.reason() == Reason.OUTCOME_UNKNOWN
                || Rejections.code(rejection.reason()) == Status.Code.UNAVAILABLE;
        return undecided ? ExitCodes.RUN_NO_ANSWER : ExitCodes.RUN_REJECTED;
    }

    /** Describes the lock, to report its holder, if it is not granted yet. */
    private void describeHolder(PalisadeClient client) {
        if (lease != null) {
            return;
        }
        background("describe", () -> {
            try {
                LockDescription description = client.describe(request.lock());
                events.add(() -> reportWait(description));
            } catch (LockUnavailableException e) {
                events.add(() -> onUnreachable(e.rejection().message()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IllegalStateException | RejectedException e) {
                return; // The client was closed, or the acquire is rejected too and reports it.
            }
        });
    }

    /** Reports that no server listens, without waiting for the client, which would retry. */
    private void probe() {
        if (PortProbe.refusedByAll(request.server(), request.timeout())) {
            events.add(() -> onUnreachable("no reply from the lock server at " + request.server()
                    + " (connection refused); check --server, or start one: palisade server"));
        }
    }

    /** Checks for standbys, unless the lock is granted: most runs have it by then. */
    private void checkStandbys() {
        if (lease == null) {
            background("standbys", () -> onlyStandbys.get().ifPresent(why -> events.add(() -> onStandbysOnly(why))));
        }
    }

    private void onStandbysOnly(String why) {
        if (lease == null && exit == null) {
            exitWith(ExitCodes.RUN_NO_ANSWER, why);
        }
    }

    private static void background(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void reportWait(LockDescription description) {
        // The grant may be newer than the description although its reply arrives later.
        if (lease == null && exit == null && !RunOutput.isHeldByThisProcess(description)) {
            output.printUnlessQuiet(output.waiting(description));
        }
    }

    private void onUnreachable(String what) {
        if (lease != null || exit != null) {
            return;
        }
        if (request.waitIsBounded()) {
            if (!unreachableReported) {
                unreachableReported = true;
                output.printUnlessQuiet(what + "; retrying");
            }
        } else {
            exitWith(ExitCodes.RUN_NO_ANSWER, what);
        }
    }

    private void onGranted(Lease granted) {
        lease = granted;
        granted.onLost(reason -> events.add(() -> onLost(reason)));
        granted.onReleaseRequested(releaseRequest -> events.add(() -> onReleaseRequested(releaseRequest)));
        if (channel == null) {
            schedule(WATCHDOG_START_TIMEOUT, () -> abortStart("the watchdog does not start"));
        } else {
            start();
        }
    }

    // ---- the command

    @Override
    public void onReady(MessageChannel opened) {
        events.add(() -> {
            channel = opened;
            if (lease != null && exit == null) {
                start();
            }
        });
    }

    private void start() {
        Lease held = lease;
        if (held == null || started) {
            return;
        }
        started = true;
        schedule(WATCHDOG_START_TIMEOUT, () -> terminateCommand("its watchdog does not start the command"));
        Map<String, String> environment = Map.of(
                "PALISADE_LOCK",
                request.lock(),
                "PALISADE_TOKEN",
                held.token().toString(),
                SEQUENCER,
                held.sequencer().toText(),
                "PALISADE_SERVER",
                request.server());
        send(new Message.Start(
                request.command(),
                environment,
                request.termination(),
                request.options().ttl()));
    }

    @Override
    public void onMessage(Message message) {
        if (message instanceof Message.ValidityRequest) {
            // Replies on the reader thread: the validity is measured now and counts from the request.
            Lease held = lease;
            send(new Message.ValidityReply(held == null ? Duration.ZERO : held.validFor()));
        } else {
            events.add(() -> handle(message));
        }
    }

    private void handle(Message message) {
        if (message instanceof Message.Started running) {
            group = new ProcessGroup(running.pid());
            if (!fallbackScheduled) {
                timerNanos = Long.MAX_VALUE;
            }
        } else if (message instanceof Message.Failed failed) {
            abortStart(failed.why());
        } else if (message instanceof Message.Ended ended) {
            onEnded(ended);
        }
    }

    private void onEnded(Message.Ended ended) {
        if (!ended.groupEmpty()) {
            reportSurvivors();
        } else {
            onCommandEnded(ended.lost(), ended.exitCode());
        }
    }

    /** Handles the end of the whole process group. */
    private void onCommandEnded(boolean wasLost, int code) {
        Lease held = lease;
        if (wasLost || held == null || held.lostReason().isPresent()) {
            reportLost("its local deadline passed");
            exit = ExitCodes.LOST;
            return;
        }
        release(held);
        String received = signal;
        if (received != null) {
            exit = ExitCodes.SIGNALLED + SIGNAL_NUMBERS.getOrDefault(received, 0);
        } else {
            exit = releaseWasRequested ? ExitCodes.LOST : code;
        }
    }

    private void reportSurvivors() {
        exitWith(
                ExitCodes.CANNOT_RUN,
                "processes of the command are left that cannot be killed from here; " + request.lock()
                        + " is not given back: it is free after the lock-delay");
    }

    /** Releases the lock and exits before the command was started. */
    private void abortStart(String why) {
        Lease held = lease;
        if (held != null) {
            release(held);
        }
        exitWith(ExitCodes.CANNOT_RUN, why);
    }

    private void release(Lease held) {
        released = held.release() != ReleaseOutcome.UNKNOWN;
        if (!released) {
            output.print("unknown whether " + request.lock() + " was released; if not, its lease expires");
        }
    }

    // ---- termination

    private void onSignalled(String name) {
        if (exit != null) {
            return;
        }
        signal = signal == null ? name : signal;
        if (started) {
            send(new Message.Signal(name));
            scheduleFallback(request.termination().killAfter().plus(WATCHDOG_MARGIN));
        } else {
            Lease held = lease;
            if (held != null) {
                release(held);
            }
            exit = ExitCodes.SIGNALLED + SIGNAL_NUMBERS.getOrDefault(name, 0);
        }
    }

    private void onLost(LostReason reason) {
        Lease held = lease;
        if (exit != null || held == null) {
            return;
        }
        String detail = held.lostDetail();
        reportLost(reason + (detail.isEmpty() ? "" : " " + detail));
        if (started) {
            send(new Message.Lost());
            // The lock is in lock-delay now: the command has to end before the lock-delay does.
            boolean atOnce = request.termination().killAtOnce();
            scheduleFallback(
                    (atOnce ? Duration.ZERO : request.termination().killAfter()).plus(WATCHDOG_MARGIN_WHEN_LOST));
        } else {
            exit = ExitCodes.LOST;
        }
    }

    private void reportLost(String why) {
        if (!lostReported) {
            lostReported = true;
            output.print("lost " + request.lock() + ": " + why + (started ? "; stopping the command" : ""));
        }
    }

    private void onReleaseRequested(Lease.ReleaseRequest releaseRequest) {
        Lease held = lease;
        if (exit != null || held == null) {
            return;
        }
        String line =
                releaseRequest.by() + " requested the release of " + request.lock() + " (" + releaseRequest.why() + ")";
        if (request.ignoresReleaseRequests()) {
            output.print(line + "; ignored by --on-release-request");
            return;
        }
        releaseWasRequested = true;
        output.print(line + "; stopping the command");
        if (started) {
            send(new Message.Signal("TERM"));
            scheduleFallback(request.termination().killAfter().plus(WATCHDOG_MARGIN));
        } else {
            release(held);
            exit = ExitCodes.LOST;
        }
    }

    /** Terminates the command from here if the watchdog does not act in time, for instance because it is stopped. */
    private void scheduleFallback(Duration longest) {
        long then = System.nanoTime() + longest.toNanos();
        // A later request, such as a second signal, does not postpone the fallback.
        if (!fallbackScheduled || then - timerNanos < 0) {
            fallbackScheduled = true;
            schedule(longest, () -> terminateCommand("the watchdog does not reply"));
        }
    }

    @Override
    public void onExit(String why) {
        events.add(() -> {
            if (exit == null && lease == null) {
                exitWith(ExitCodes.CANNOT_RUN, why);
            } else if (exit == null) {
                terminateCommand(why);
            }
        });
    }

    private void terminateCommand(String why) {
        if (!started) {
            abortStart(why);
            return;
        }
        WatchdogProcess process = watchdog;
        if (process != null) {
            // A killed watchdog cannot start the command any more.
            process.kill();
        }
        Optional<ProcessGroup> command = Optional.ofNullable(group);
        if (group == null) {
            OptionalLong session = process == null ? OptionalLong.empty() : process.session();
            ForcedTermination.Search search =
                    ForcedTermination.find(session, SEQUENCER + "=" + sequencer(), SEARCH_TIMEOUT);
            if (!search.certain()) {
                String unknown = "; unknown whether the command runs; " + request.lock()
                        + " is not released: it is free after the lock-delay";
                exitWith(ExitCodes.CANNOT_RUN, why + unknown);
                return;
            }
            command = search.found();
        }
        output.print(why + "; stopping the command");
        if (command.isEmpty()
                || ForcedTermination.terminate(command.get(), request.termination(), this::leaseIsValid)) {
            onCommandEnded(lostReported, ExitCodes.CANNOT_RUN);
        } else {
            reportSurvivors();
        }
    }

    private String sequencer() {
        Lease held = lease;
        return held == null ? "" : held.sequencer().toText();
    }

    private boolean leaseIsValid() {
        Lease held = lease;
        return !lostReported && signal == null && held != null && held.isValid();
    }

    // ---- basics

    private void send(Message message) {
        MessageChannel current = channel;
        if (current != null) {
            try {
                current.send(message);
            } catch (IOException e) {
                // The watchdog has ended; the reader thread reports it.
                return;
            }
        }
    }

    private void schedule(Duration later, Runnable what) {
        timerNanos = System.nanoTime() + later.toNanos();
        timerTask = what;
    }

    private void exitWith(int code, String why) {
        output.print(why);
        exit = code;
    }
}
