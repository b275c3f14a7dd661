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
import dev.palisade.client.LockUnavailableException;
import dev.palisade.client.LostReason;
import dev.palisade.client.PalisadeClient;
import dev.palisade.client.ReleaseOutcome;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
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
import org.jspecify.annotations.Nullable;

/**
 * One {@code palisade run}, from the asking to the giving back. The watchdog decides about the command, this about the lock; each
 * ends the command when the other is gone. What happens is decided on one thread, others only bring it the news. The lock is
 * released only when it is certain that nothing of the command runs any more; else it is left to run out.
 */
final class LockedRun implements WatchdogProcess.Listener {
    private static final Duration NOTICE_AFTER = Duration.ofSeconds(1);
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
    private @Nullable WatchdogProcess watchdog;
    private volatile @Nullable Lease lease;
    private volatile @Nullable Link link;
    private boolean started;
    private boolean standsBy;
    private @Nullable Group group;
    private @Nullable String signal;
    private boolean askedBack;
    private boolean toldLost;
    private @Nullable Integer exit;
    private long due = Long.MAX_VALUE;
    private Runnable whenDue = () -> {};

    /**
     * What is to be done.
     *
     * @param waitIsBounded whether the wait is also for a server that cannot be reached yet
     */
    record Request(
            String lock,
            AcquireOptions options,
            List<String> command,
            Ending ending,
            boolean ignoresRevoke,
            boolean waitIsBounded,
            String server) {}

    LockedRun(Request request, Teller teller) {
        this.request = request;
        this.teller = teller;
    }

    /** Returns the exit code. Nothing of the client's is closed: what is held then is meant to run out. */
    int run(PalisadeClient client) throws InterruptedException {
        NUMBERS.keySet().forEach(name -> Signals.hear(name, heard -> news.add(() -> signalled(heard))));
        WatchdogProcess process;
        try {
            process = WatchdogProcess.start(this);
        } catch (IOException e) {
            teller.tell(
                    "cannot start its watchdog (" + e.getMessage() + "); is java's folder for temporary files usable?");
            return ExitCodes.CANNOT_RUN;
        }
        watchdog = process;
        var acquiring = client.acquireAsync(request.lock(), request.options());
        var unused = acquiring.whenComplete((result, failure) -> news.add(() -> answered(result, failure)));
        at(NOTICE_AFTER, () -> look(client));
        while (exit == null) {
            Runnable next = news.poll(Math.max(0, due - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (next == null) {
                next = whenDue;
                due = Long.MAX_VALUE;
            }
            next.run();
        }
        process.forget();
        return exit;
    }

    // ---- getting the lock

    private void answered(@Nullable AcquireResult result, @Nullable Throwable failure) {
        if (result instanceof AcquireResult.Granted granted) {
            held(granted.lease());
        } else if (result instanceof AcquireResult.Busy busy) {
            end(ExitCodes.BUSY, teller.busy(request.lock(), busy));
        } else if (result instanceof AcquireResult.TimedOut) {
            end(ExitCodes.TIMED_OUT, request.lock() + " was not granted in time; the command did not run");
        } else if (result instanceof AcquireResult.Unavailable unavailable) {
            end(ExitCodes.RUN_NO_ANSWER, unavailable.rejection().message());
        } else {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            boolean misuse = cause instanceof RejectedException refused
                    && refused.rejection().reason() == Reason.MALFORMED_REQUEST;
            String why = cause instanceof RejectedException refused
                    ? refused.rejection().message()
                    : String.valueOf(cause);
            end(misuse ? ExitCodes.USAGE : ExitCodes.RUN_NO_ANSWER, why);
        }
    }

    /** After a while without the lock: who has it? */
    private void look(PalisadeClient client) {
        if (lease != null) {
            return;
        }
        Thread asking = new Thread(
                () -> {
                    try {
                        LockDescription seen = client.describe(request.lock());
                        news.add(() -> waits(seen));
                    } catch (LockUnavailableException e) {
                        news.add(() -> unreachable(e));
                    }
                },
                "look");
        asking.setDaemon(true);
        asking.start();
    }

    private void waits(LockDescription seen) {
        if (lease == null) {
            teller.inform(teller.waiting(seen));
        }
    }

    private void unreachable(LockUnavailableException failure) {
        if (lease != null) {
            return;
        }
        String what = failure.rejection().message();
        if (request.waitIsBounded()) {
            teller.inform(what + "; trying on");
        } else {
            end(ExitCodes.RUN_NO_ANSWER, what);
        }
    }

    private void held(Lease granted) {
        lease = granted;
        granted.onLost(reason -> news.add(() -> lost(reason)));
        granted.onRevokeAsked(asked -> news.add(() -> revoked(asked)));
        if (link == null) {
            at(WATCHDOG_START, () -> giveUp("its watchdog does not start"));
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
        if (held.release() == ReleaseOutcome.UNKNOWN) {
            teller.tell("it is not known whether " + request.lock() + " was released; at the latest it runs out");
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
            teller.tell("lost " + request.lock() + ": " + why + (started ? "; the command is ended" : ""));
        }
    }

    private void revoked(Lease.RevokeAsked asked) {
        Lease held = lease;
        if (exit != null || held == null) {
            return;
        }
        String who = asked.by() + " asks for " + request.lock() + ": " + asked.why();
        if (request.ignoresRevoke()) {
            teller.tell(who + "; going on");
            return;
        }
        askedBack = true;
        teller.tell(who + "; the command is ended");
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
            at(longest, () -> endItOurselves("its watchdog does not answer"));
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
                String unknown = "; whether the command runs is unknown; " + request.lock()
                        + " is not given back: it is free after the lock-delay";
                end(ExitCodes.CANNOT_RUN, why + unknown);
                return;
            }
            command = search.found();
        }
        teller.tell(why + "; the command is ended");
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
