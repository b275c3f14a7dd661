package dev.palisade.cli.run;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.watchdog.Ending;
import dev.palisade.cli.watchdog.Group;
import dev.palisade.cli.watchdog.Link;
import dev.palisade.cli.watchdog.Message;
import dev.palisade.cli.watchdog.Signals;
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
 * One {@code palisade run}, from the asking to the giving back. The watchdog decides about the command, this about the lock; each
 * ends the command when the other is gone. What happens is decided on one thread, others only bring it the news. The lock is
 * released only when it is certain that nothing of the command runs any more; else it is left to run out.
 */
final class LockedRun implements WatchdogProcess.Listener {
    private static final Duration NOTICE_AFTER = Duration.ofSeconds(1);
    private static final int NOTICE_SHARE = 5;
    private static final Duration SPARE = Duration.ofSeconds(2);

    /** Shorter than what the default lock-delay has over {@code --kill-after}. */
    private static final Duration SPARE_WHEN_LOST = Duration.ofMillis(500);

    private static final Duration SEARCH = Duration.ofSeconds(5);
    private static final Duration WATCHDOG_START = Duration.ofSeconds(20);
    private static final String SEQUENCER = "PALISADE_SEQUENCER";
    private static final Map<String, Integer> NUMBERS = Map.of("HUP", 1, "INT", 2, "TERM", 15);

    private final BlockingQueue<Runnable> news = new LinkedBlockingQueue<>();
    private final Request request;
    private final Teller teller;
    private final Supplier<Optional<String>> onlyStandbys;
    private @Nullable WatchdogProcess watchdog;
    private volatile @Nullable Lease lease;
    private volatile @Nullable Link link;
    private boolean started;
    private boolean standsBy;
    private @Nullable Group group;
    private @Nullable String signal;
    private boolean askedBack;
    private boolean toldLost;
    private boolean toldUnreachable;
    private boolean released;
    private @Nullable Integer exit;
    private long due = Long.MAX_VALUE;
    private Runnable whenDue = () -> {};

    /**
     * What is to be done.
     *
     * @param waitIsBounded whether the wait is also for a server that cannot be reached yet
     * @param server addresses of the lock servers
     * @param timeout for the first reply of a server
     */
    record Request(
            String lock,
            AcquireOptions options,
            List<String> command,
            Ending ending,
            boolean ignoresReleaseRequests,
            boolean waitIsBounded,
            String server,
            Duration timeout) {}

    /** When to report that the lock is not granted yet. The rest of {@code timeout} is for the call that describes its holder. */
    static Duration noticeAfter(Duration timeout) {
        Duration share = timeout.dividedBy(NOTICE_SHARE);
        return share.compareTo(NOTICE_AFTER) < 0 ? share : NOTICE_AFTER;
    }

    /** @param onlyStandbys blocks; why no server will decide, if all are standbys of a server that was not given */
    LockedRun(Request request, Teller teller, Supplier<Optional<String>> onlyStandbys) {
        this.request = request;
        this.teller = teller;
        this.onlyStandbys = onlyStandbys;
    }

    /** Returns the exit code. The client is closed only after a release: a lease that is still held then is meant to run out. */
    int run(PalisadeClient client) throws InterruptedException {
        NUMBERS.keySet().forEach(name -> Signals.hear(name, heard -> news.add(() -> signalled(heard))));
        WatchdogProcess process;
        try {
            process = WatchdogProcess.start(this);
        } catch (IOException e) {
            teller.tell("cannot start the watchdog (" + e.getMessage()
                    + "); check that Java's folder for temporary files is writable");
            return ExitCodes.CANNOT_RUN;
        }
        watchdog = process;
        var acquiring = client.acquireAsync(request.lock(), request.options());
        var unused = acquiring.whenComplete((result, failure) -> news.add(() -> answered(result, failure)));
        Duration notice = noticeAfter(request.timeout());
        Duration check = notice.dividedBy(3);
        at(check, () -> {
            checkStandbys();
            at(notice.minus(check), () -> look(client));
        });
        background("probe", this::probe);
        while (exit == null) {
            Runnable next = news.poll(Math.max(0, due - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (next == null) {
                next = whenDue;
                due = Long.MAX_VALUE;
            }
            next.run();
        }
        process.forget();
        if (released) {
            client.close();
        }
        return exit;
    }

    // ---- getting the lock

    private void answered(@Nullable AcquireResult result, @Nullable Throwable failure) {
        if (result instanceof AcquireResult.Granted granted) {
            held(granted.lease());
        } else if (result instanceof AcquireResult.Busy busy) {
            teller.inform(teller.busy(request.lock(), busy));
            exit = ExitCodes.BUSY;
        } else if (result instanceof AcquireResult.TimedOut) {
            end(ExitCodes.TIMED_OUT, request.lock() + " was not granted within --wait; the command did not run");
        } else if (result instanceof AcquireResult.Unavailable unavailable) {
            String message = unavailable.rejection().message();
            boolean isRecovering = unavailable.rejection().reason() == Reason.RECOVERING;
            end(code(unavailable.rejection()), isRecovering ? message + "; the command did not run" : message);
        } else {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof RejectedException refused) {
                end(
                        code(refused.rejection()),
                        refused.rejection().reason() + ": "
                                + refused.rejection().message());
            } else {
                end(ExitCodes.RUN_NO_ANSWER, String.valueOf(cause));
            }
        }
    }

    /** A server that cannot decide now may decide later; one that rejects has decided. */
    private static int code(Rejection rejection) {
        boolean undecided = rejection.reason() == Reason.OUTCOME_UNKNOWN
                || Rejections.code(rejection.reason()) == Status.Code.UNAVAILABLE;
        return undecided ? ExitCodes.RUN_NO_ANSWER : ExitCodes.RUN_REJECTED;
    }

    /** Describes the lock after a while without it, to report its holder. */
    private void look(PalisadeClient client) {
        if (lease != null) {
            return;
        }
        background("look", () -> {
            try {
                LockDescription seen = client.describe(request.lock());
                news.add(() -> waits(seen));
            } catch (LockUnavailableException e) {
                news.add(() -> unreachable(e.rejection().message()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (IllegalStateException | RejectedException e) {
                return; // The client was closed meanwhile, or the acquire is rejected as well and reports it.
            }
        });
    }

    /** The client goes on connecting; a person need not wait for it when no server listens. */
    private void probe() {
        if (PortProbe.refusedByAll(request.server(), request.timeout())) {
            news.add(() -> unreachable("no reply from the lock server at " + request.server()
                    + " (connection refused); check --server, or start one: palisade server"));
        }
    }

    /** Most runs have their lock by then. */
    private void checkStandbys() {
        if (lease == null) {
            background("standbys", () -> onlyStandbys.get().ifPresent(why -> news.add(() -> standbysOnly(why))));
        }
    }

    private void standbysOnly(String why) {
        if (lease == null && exit == null) {
            end(ExitCodes.RUN_NO_ANSWER, why);
        }
    }

    private static void background(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void waits(LockDescription seen) {
        // The lock may have been granted to us after the look was sent, and the look be answered first.
        if (lease == null && exit == null && !Teller.isHeldByUs(seen)) {
            teller.inform(teller.waiting(seen));
        }
    }

    private void unreachable(String what) {
        if (lease != null || exit != null) {
            return;
        }
        if (request.waitIsBounded()) {
            if (!toldUnreachable) {
                toldUnreachable = true;
                teller.inform(what + "; retrying");
            }
        } else {
            end(ExitCodes.RUN_NO_ANSWER, what);
        }
    }

    private void held(Lease granted) {
        lease = granted;
        granted.onLost(reason -> news.add(() -> lost(reason)));
        granted.onReleaseRequested(asked -> news.add(() -> releaseRequested(asked)));
        if (link == null) {
            at(WATCHDOG_START, () -> giveUp("the watchdog does not start"));
        } else {
            start();
        }
    }

    // ---- the command

    @Override
    public void ready(Link opened) {
        news.add(() -> {
            link = opened;
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
        at(WATCHDOG_START, () -> endItOurselves("its watchdog does not start the command"));
        Map<String, String> environment = Map.of(
                "PALISADE_LOCK",
                request.lock(),
                "PALISADE_TOKEN",
                held.token().toString(),
                SEQUENCER,
                held.sequencer().toText(),
                "PALISADE_SERVER",
                request.server());
        say(new Message.Start(
                request.command(),
                environment,
                request.ending(),
                request.options().ttl()));
    }

    @Override
    public void said(Message message) {
        if (message instanceof Message.Ask) {
            // At once and here: what is measured now is true whenever it arrives.
            Lease held = lease;
            say(new Message.Holds(held == null ? Duration.ZERO : held.validFor()));
        } else {
            news.add(() -> heard(message));
        }
    }

    private void heard(Message message) {
        if (message instanceof Message.Started running) {
            group = new Group(running.pid());
            if (!standsBy) {
                due = Long.MAX_VALUE;
            }
        } else if (message instanceof Message.Failed failed) {
            giveUp(failed.why());
        } else if (message instanceof Message.Ended ended) {
            ended(ended);
        }
    }

    private void ended(Message.Ended ended) {
        if (!ended.whole()) {
            stuck();
        } else {
            over(ended.lost(), ended.exitCode());
        }
    }

    /** Nothing of the command runs any more. */
    private void over(boolean wasLost, int code) {
        Lease held = lease;
        if (wasLost || held == null || held.lostReason().isPresent()) {
            tellLost("its local deadline passed");
            exit = ExitCodes.LOST;
            return;
        }
        release(held);
        String heard = signal;
        if (heard != null) {
            exit = ExitCodes.SIGNALLED + NUMBERS.getOrDefault(heard, 0);
        } else {
            exit = askedBack ? ExitCodes.LOST : code;
        }
    }

    private void stuck() {
        end(
                ExitCodes.CANNOT_RUN,
                "processes of the command are left that cannot be killed from here; " + request.lock()
                        + " is not given back: it is free after the lock-delay");
    }

    /** Before anything was run. */
    private void giveUp(String why) {
        Lease held = lease;
        if (held != null) {
            release(held);
        }
        end(ExitCodes.CANNOT_RUN, why);
    }

    private void release(Lease held) {
        released = held.release() != ReleaseOutcome.UNKNOWN;
        if (!released) {
            teller.tell("unknown whether " + request.lock() + " was released; if not, its lease expires");
        }
    }

    // ---- what ends it

    private void signalled(String name) {
        if (exit != null) {
            return;
        }
        signal = signal == null ? name : signal;
        if (started) {
            say(new Message.Signal(name));
            standBy(request.ending().killAfter().plus(SPARE));
        } else {
            Lease held = lease;
            if (held != null) {
                release(held);
            }
            exit = ExitCodes.SIGNALLED + NUMBERS.getOrDefault(name, 0);
        }
    }

    private void lost(LostReason reason) {
        Lease held = lease;
        if (exit != null || held == null) {
            return;
        }
        String detail = held.lostDetail();
        tellLost(reason + (detail.isEmpty() ? "" : " " + detail));
        if (started) {
            say(new Message.Lost());
            // The lock is closed for a while yet: the command has to be gone before it is opened again.
            boolean atOnce = request.ending().killAtOnce();
            standBy((atOnce ? Duration.ZERO : request.ending().killAfter()).plus(SPARE_WHEN_LOST));
        } else {
            exit = ExitCodes.LOST;
        }
    }

    private void tellLost(String why) {
        if (!toldLost) {
            toldLost = true;
            teller.tell("lost " + request.lock() + ": " + why + (started ? "; stopping the command" : ""));
        }
    }

    private void releaseRequested(Lease.ReleaseRequest asked) {
        Lease held = lease;
        if (exit != null || held == null) {
            return;
        }
        String line = asked.by() + " requested the release of " + request.lock() + " (" + asked.why() + ")";
        if (request.ignoresReleaseRequests()) {
            teller.tell(line + "; ignored by --on-release-request");
            return;
        }
        askedBack = true;
        teller.tell(line + "; stopping the command");
        if (started) {
            say(new Message.Signal("TERM"));
            standBy(request.ending().killAfter().plus(SPARE));
        } else {
            release(held);
            exit = ExitCodes.LOST;
        }
    }

    /** The watchdog has been told. If it does not act, for instance because it is stopped, we do. */
    private void standBy(Duration longest) {
        long then = System.nanoTime() + longest.toNanos();
        // What is ordered later, such as a second signal, postpones nothing.
        if (!standsBy || then - due < 0) {
            standsBy = true;
            at(longest, () -> endItOurselves("the watchdog does not reply"));
        }
    }

    @Override
    public void gone(String why) {
        news.add(() -> {
            if (exit == null && lease == null) {
                end(ExitCodes.CANNOT_RUN, why);
            } else if (exit == null) {
                endItOurselves(why);
            }
        });
    }

    private void endItOurselves(String why) {
        if (!started) {
            giveUp(why);
            return;
        }
        WatchdogProcess silent = watchdog;
        if (silent != null) {
            // From here on it can start nothing.
            silent.kill();
        }
        Optional<Group> command = Optional.ofNullable(group);
        if (group == null) {
            OptionalLong session = silent == null ? OptionalLong.empty() : silent.session();
            Endgame.Search search = Endgame.find(session, SEQUENCER + "=" + sequencer(), SEARCH);
            if (!search.certain()) {
                String unknown = "; unknown whether the command runs; " + request.lock()
                        + " is not released: it is free after the lock-delay";
                end(ExitCodes.CANNOT_RUN, why + unknown);
                return;
            }
            command = search.found();
        }
        teller.tell(why + "; stopping the command");
        if (command.isEmpty() || Endgame.play(command.get(), request.ending(), this::holds)) {
            over(toldLost, ExitCodes.CANNOT_RUN);
        } else {
            stuck();
        }
    }

    private String sequencer() {
        Lease held = lease;
        return held == null ? "" : held.sequencer().toText();
    }

    private boolean holds() {
        Lease held = lease;
        return !toldLost && signal == null && held != null && held.isValid();
    }

    // ---- means

    private void say(Message message) {
        Link to = link;
        if (to != null) {
            try {
                to.send(message);
            } catch (IOException e) {
                // It is gone, which its reader finds out and tells.
                return;
            }
        }
    }

    private void at(Duration later, Runnable what) {
        due = System.nanoTime() + later.toNanos();
        whenDue = what;
    }

    private void end(int code, String why) {
        teller.tell(why);
        exit = code;
    }
}
