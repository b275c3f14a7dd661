package dev.palisade.faults;

import static dev.palisade.faults.LockService.LOCK;
import static dev.palisade.faults.LockService.TRY;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.AdvisoryLock;
import dev.palisade.client.Lease;
import dev.palisade.client.LockDescription;
import dev.palisade.client.Operations;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What clients of a lock service do, told line by line; times and tokens are left out, as they are another service's to choose. */
@SuppressWarnings("ImmutableEnumChecker") // The steps are functions that keep nothing.
enum Scenario {
    A_TRY_AND_A_RELEASE((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        Lease first = leaseOf(a.tryAcquire(LOCK, TRY.purpose("first")));
        told.add(shown(b.tryAcquire(LOCK)));
        told.add(shown(b.describe(LOCK)));
        told.add("release " + first.release() + " " + first.release());
        Lease second = leaseOf(b.tryAcquire(LOCK));
        told.add("rises " + (second.token().compareTo(first.token()) > 0));
        told.add(shown(second));
        told.add("alive " + a.operations().isAlive(second.sequencer()) + " "
                + a.operations().isAlive(first.sequencer()));
    }),
    A_QUEUE_IN_ORDER((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        PalisadeClient c = service.client("c");
        Lease first = leaseOf(a.tryAcquire(LOCK));
        CompletableFuture<AcquireResult> second = queue(service, b, 1);
        CompletableFuture<AcquireResult> third = queue(service, c, 2);
        told.add(shown(a.describe(LOCK)));
        first.close();
        service.until(second::isDone);
        told.add(shown(leaseOf(second.join())) + " third " + third.isDone());
        leaseOf(second.join()).close();
        service.until(third::isDone);
        told.add(shown(leaseOf(third.join())));
        service.until(() -> c.describe(LOCK).waiters().isEmpty());
        told.add(whats(a));
    }),
    WHO_GIVES_UP_LEAVES_THE_QUEUE((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        Lease held = leaseOf(a.tryAcquire(LOCK));
        CompletableFuture<AcquireResult> cancelled = queue(service, b, 1);
        told.add("cancelled " + cancelled.cancel(true));
        service.until(() -> a.describe(LOCK).waitersTotal() == 0);
        CompletableFuture<AcquireResult> failed = queue(service, b, 1);
        told.add("failed " + failed.completeExceptionally(new IllegalStateException("the user's")));
        service.until(() -> a.describe(LOCK).waitersTotal() == 0);
        told.add("held " + held.isValid());
        told.add(whats(a));
    }),
    A_WAIT_THAT_ENDS((service, told) -> {
        PalisadeClient a = service.client("a");
        Lease held = leaseOf(a.tryAcquire(LOCK));
        told.add(shown(a.tryAcquire(LOCK, AcquireOptions.waiting(Duration.ofMillis(300)))));
        told.add(shown(a.describe(LOCK)) + held.isValid());
    }),
    SHARED_BESIDE_SHARED((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        Lease one = leaseOf(a.tryAcquire(LOCK, TRY.shared()));
        Lease two = leaseOf(b.tryAcquire(LOCK, TRY.shared()));
        told.add(shown(one) + shown(two));
        CompletableFuture<AcquireResult> exclusive = queue(service, a, 1);
        told.add(shown(b.tryAcquire(LOCK, TRY.shared())));
        one.close();
        told.add("exclusive " + exclusive.isDone());
        two.close();
        service.until(exclusive::isDone);
        told.add(shown(leaseOf(exclusive.join())));
    }),
    REENTERED((service, told) -> {
        PalisadeClient a = service.client("a");
        Lease outer = leaseOf(a.tryAcquire(LOCK));
        Lease inner = outer.reenter();
        told.add("same " + inner.token().equals(outer.token()) + " " + outer.release());
        told.add(shown(a.describe(LOCK)) + inner.isValid());
        told.add(inner.release() + shown(a.describe(LOCK)));
        told.add(whats(a));
    }),
    AN_ADVISORY_LOCK((service, told) -> {
        AdvisoryLock mine = service.client("a").advisoryLock(LOCK, TRY);
        AdvisoryLock theirs = service.client("b").advisoryLock(LOCK, TRY);
        told.add(mine.tryLock() + " " + mine.tryLock() + " " + theirs.tryLock());
        mine.unlock();
        told.add("once " + theirs.tryLock());
        mine.unlock();
        told.add("twice " + timed(theirs));
        theirs.unlock();
    }),
    A_FORCED_RELEASE_UNDER_WORK((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient ops = service.client("ops");
        List<String> heard = new ArrayList<>();
        try {
            a.callLocked(LOCK, TRY.interruptOnLoss(false), lease -> {
                lease.onReleaseRequested(asked -> heard.add("asked " + asked));
                lease.onLost(why -> heard.add("lost " + why + " " + lease.lostDetail()));
                told.add("asked " + ops.operations().requestRelease(LOCK, "ops", "please"));
                service.until(() -> heard.size() == 1);
                told.add("ended " + ops.operations().forceRelease(LOCK, OptionalLong.empty(), "ops", "stuck"));
                service.until(() -> heard.size() == 2);
                return "done";
            });
        } catch (LeaseLostException e) {
            told.add(e.reason().toString());
        }
        told.addAll(heard);
        told.add(whats(ops));
    }),
    A_CLIENT_THAT_IS_CUT_OFF((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        Lease lost = leaseOf(a.tryAcquire(LOCK, TRY.ttl(Duration.ofSeconds(2)).lockDelay(Duration.ofSeconds(1))));
        CompletableFuture<AcquireResult> next = queue(service, b, 1);
        service.disconnect(a);
        service.until(() -> b.describe(LOCK).holders().isEmpty());
        LockDescription closed = b.describe(LOCK);
        told.add(shown(closed) + " closed " + (closed.lockDelayRemaining().toMillis() > 0));
        service.until(next::isDone);
        Lease after = leaseOf(next.join());
        told.add("rises " + (after.token().compareTo(lost.token()) > 0));
        service.until(() -> lost.lostReason().isPresent());
        told.add(lost.lostReason() + " " + lost.release());
        service.until(() -> whats(b).contains("ACCEPTED"));
        told.add(whats(b));
    }),
    A_RESTART((service, told) -> {
        PalisadeClient a = service.client("a");
        PalisadeClient b = service.client("b");
        Lease held = leaseOf(a.tryAcquire(LOCK, TRY.ttl(Duration.ofSeconds(20))));
        CompletableFuture<AcquireResult> next = queue(service, b, 1);
        service.restart();
        service.until(() -> shown(b.describe(LOCK)).equals("holders [a] waiters [b]"));
        told.add("held " + held.isValid() + " next " + next.isDone());
        told.add("release " + held.release());
        service.until(next::isDone);
        told.add("rises " + (leaseOf(next.join()).token().compareTo(held.token()) > 0));
        service.until(() -> whats(a).contains("ACCEPTED"));
        // When a client is back and resumes is between it and its back-off.
        told.add(whats(a).replace("RESUMED ", ""));
    }),
    REFUSALS((service, told) -> {
        PalisadeClient a = service.client("a");
        told.add(refusal(() -> a.tryAcquire("")));
        told.add(refusal(() -> a.tryAcquire(LOCK, TRY.ttl(Duration.ofMillis(1)))));
        told.add(refusal(() -> a.operations().isAlive(SignedSequencer.of(new byte[90]))));
        told.add(refusal(() -> leaseOf(a.tryAcquire(LOCK)).ensureValidFor(Duration.ofHours(1))));
    });

    private final Steps steps;

    @FunctionalInterface
    private interface Steps {
        void take(LockService service, List<String> told) throws InterruptedException;
    }

    /** What a service is asked for. */
    @FunctionalInterface
    private interface Asked {
        void ask() throws InterruptedException;
    }

    Scenario(Steps steps) {
        this.steps = steps;
    }

    /** What was told. */
    List<String> play(LockService service) throws InterruptedException {
        List<String> told = new ArrayList<>();
        steps.take(service, told);
        return told;
    }

    private static CompletableFuture<AcquireResult> queue(LockService service, PalisadeClient client, int place)
            throws InterruptedException {
        CompletableFuture<AcquireResult> asked =
                client.acquireAsync(LOCK, AcquireOptions.waiting(Duration.ofMinutes(2)));
        service.until(() -> client.describe(LOCK).waitersTotal() == place);
        return asked;
    }

    private static Lease leaseOf(AcquireResult result) {
        if (result instanceof AcquireResult.Granted granted) {
            return granted.lease();
        }
        throw new AssertionError("not granted: " + result);
    }

    private static String shown(Lease lease) {
        return lease.lock() + " " + lease.mode() + " valid " + lease.isValid();
    }

    private static String shown(AcquireResult result) {
        return result instanceof AcquireResult.Busy busy
                ? "busy by "
                        + busy.holder().map(holder -> holder.owner() + " " + holder.purpose() + " " + holder.mode())
                        + " waiters " + busy.waiters()
                : result.getClass().getSimpleName();
    }

    private static String shown(LockDescription lock) {
        return "holders "
                + lock.holders().stream().map(holder -> holder.owner()).toList() + " waiters "
                + lock.waiters().stream().map(waiter -> waiter.owner()).toList();
    }

    private static String whats(PalisadeClient client) throws InterruptedException {
        return String.join(
                " ",
                client.operations().history(LOCK).stream()
                        .map(Operations.HistoryEntry::what)
                        .toList());
    }

    private static boolean timed(AdvisoryLock lock) throws InterruptedException {
        return lock.tryLock(10, TimeUnit.SECONDS);
    }

    private static String refusal(Asked asked) throws InterruptedException {
        try {
            asked.ask();
            return "not refused";
        } catch (RejectedException | IllegalArgumentException e) {
            return e.toString();
        }
    }
}
