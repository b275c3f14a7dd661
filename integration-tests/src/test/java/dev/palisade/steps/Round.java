package dev.palisade.steps;

import dev.palisade.steps.Cell.Placed;
import dev.palisade.steps.HttpCall.Reply;
import dev.palisade.steps.Site.Gateway;
import dev.palisade.steps.Step.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * One fault of one gateway while several calls through it, each of a lock of its own, stand at different steps. Meanwhile
 * another client takes each lock, reads and writes through another gateway; then the faulted one returns, and the former
 * holders try once more at every gateway.
 */
final class Round {
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(run -> {
        Thread thread = new Thread(run, "round");
        thread.setDaemon(true);
        return thread;
    });

    private final Lab lab;
    private final Site site;
    private final Gateway victim;
    private final Gateway other;
    private final Fault fault;
    private final Holders holders;
    private final List<Cell> cells = new ArrayList<>();
    private long firstNanos;
    private boolean late;
    private CompletableFuture<Void> back = CompletableFuture.completedFuture(null);

    Round(Lab lab, Site site, Fault fault) {
        this.lab = lab;
        this.site = site;
        this.fault = fault;
        victim = site.gateways.get(0);
        other = site.gateways.get(1 % site.gateways.size());
        holders = new Holders(lab, site);
    }

    /** One cell for each step. */
    List<Cell> run(List<Step> steps) {
        Placement placement = new Placement(lab, site, holders, fault);
        firstNanos = System.nanoTime();
        cells.addAll(placement.place(steps));
        // Later than this the gateway may have given up what stands at the service.
        late = System.nanoTime() - firstNanos > Site.DELTA.toNanos();
        countAsMissed(cell -> late || !cell.stands() || placement.isElsewhere(cell));
        String guard = site.guard(victim);
        switch (fault) {
            case KILL -> kill(guard);
            case STOP -> stop(guard);
            case TAKEN_OVER -> takeOver(guard);
            case CUT -> cut();
            case LATE -> late(guard);
        }
        finish();
        return cells;
    }

    /** The fault did not hit them as it was meant to: they are placed again. */
    private void countAsMissed(Predicate<Cell> which) {
        cells.stream()
                .filter(cell -> cell.placed == Placed.HIT && which.test(cell))
                .forEach(cell -> cell.placed = Placed.MISSED);
    }

    private void kill(String guard) {
        victim.process().kill();
        long killed = System.nanoTime();
        victim.relay.cut();
        victim.link.cut();
        victim.link.thaw();
        go(killed);
        back = CompletableFuture.runAsync(() -> site.restart(victim), THREADS);
        takeLocks();
        awaitNewer(guard);
        if (!site.takesOver()) {
            Waits.until(() -> System.nanoTime() - killed > Site.DELTA.toNanos());
            site.endEntries(guard);
        }
    }

    private void stop(String guard) {
        victim.process().pause();
        long stopped = System.nanoTime();
        takeLocks();
        awaitNewer(guard);
        // Where an entry keeps others out, for so long that one which ends by time would have.
        Duration length = cells.stream().anyMatch(cell -> cell.keptOut)
                ? Site.LEASE.multipliedBy(3).dividedBy(2).plus(Site.DELTA)
                : Site.LEASE;
        Waits.until(() -> System.nanoTime() - stopped > length.plusMillis(200).toNanos());
        victim.process().resume();
        go(System.nanoTime());
    }

    /** The service and the network keep the promise of &#916;: what the stopped gateway has sent is over before. */
    private void takeOver(String guard) {
        victim.process().pause();
        long stopped = System.nanoTime();
        victim.link.cut();
        victim.link.thaw();
        if (site.hasMissedRenewals(guard)) {
            // A slow machine made it stand still before, so it was stopped for longer than the promise covers.
            late = true;
            countAsMissed(cell -> true);
        }
        cells.forEach(cell -> lab.backend.go(cell.key, deadline(stopped)));
        takeLocks();
        Waits.until(() -> !site.isRegistered(guard));
        cells.forEach(cell -> cell.newer.join());
        victim.process().resume();
        go(stopped);
        cells.forEach(cell -> expect(cell, "MARK_UNAVAILABLE", "shut out", holders.refusal(victim, cell)));
        victim.process().kill();
        back = CompletableFuture.runAsync(() -> site.restart(victim), THREADS);
    }

    /** What is withheld for longer than the service takes writes is dropped there: then nothing was tried. */
    private void late(String guard) {
        takeLocks();
        awaitNewer(guard);
        long lost = firstNanos + Site.DELTA.toNanos();
        if (System.nanoTime() - deadline(lost) > 0) {
            countAsMissed(cell -> true);
        }
        go(lost);
    }

    private void cut() {
        victim.relay.cut();
        if (cells.stream().anyMatch(cell -> cell.hold == null)) {
            victim.link.cut();
            victim.link.thaw();
        }
        cells.stream()
                .filter(cell -> cell.step.phase() == Phase.HALF || cell.step.phase() == Phase.SENT)
                .forEach(cell -> cell.call.cut());
        go(System.nanoTime());
        takeLocks();
    }

    /** Everything that was withheld continues; the service applies nothing of it later than half of &#916; after that. */
    private void go(long unknownNanos) {
        victim.link.thaw();
        for (Cell cell : cells) {
            lab.backend.go(cell.key, deadline(unknownNanos));
            if (cell.step.phase() == Phase.HALF) {
                cell.call.sendSecondHalf();
            }
            if (cell.hold != null) {
                cell.hold.release();
            }
        }
    }

    /** When the service applies a call no more whose outcome may have become unknown at {@code unknownNanos}. */
    private long deadline(long unknownNanos) {
        return late ? 0 : unknownNanos + Site.DELTA.toNanos() / 2;
    }

    /** Another client takes each lock, reads, and writes. */
    private void takeLocks() {
        for (Cell cell : cells) {
            cell.newer = CompletableFuture.supplyAsync(() -> holders.takeOver(cell, other, back), THREADS);
        }
    }

    /** Until each newer holder has written, or is kept out by the entry of the call that stands still. */
    private void awaitNewer(String guard) {
        if (site.gateways.size() == 1) {
            return; // It waits for this very gateway.
        }
        for (Cell cell : cells) {
            Waits.until(() -> {
                cell.keptOut = site.hasRaised(cell.key, cell.newerToken) && site.registered(cell.key, guard) > 0;
                return cell.newer.isDone() || cell.keptOut;
            });
        }
        holders.letAnotherCallPass(other);
        cells.stream()
                .filter(cell -> cell.keptOut && site.registered(cell.key, guard) > 0)
                .forEach(cell -> expect(
                        cell, false, "another call overtook the newer holder's read", lab.backend.hasRead(cell.key)));
    }

    private void finish() {
        for (Cell cell : cells) {
            try {
                String newest = cell.newer.get(Waits.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                expect(cell, true, "the newer holder's write was applied", lab.backend.hasApplied(newest));
                Reply reply = cell.call.reply().get(Waits.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                lab.record(cell.key, cell.content, reply);
                cell.call.close();
            } catch (Exception e) {
                throw new AssertionError(fault + " at " + cell.where(), e);
            }
        }
        back.join();
        for (Cell cell : cells) {
            for (Gateway gateway : site.gateways) {
                String[] reason = {""};
                Waits.until(() -> {
                    reason[0] = holders.refusal(gateway, cell);
                    return !reason[0].equals("MARK_UNAVAILABLE")
                            || site.guard(gateway).isEmpty();
                });
                expect(cell, "TOKEN_STALE", "the former holder's next write was refused", reason[0]);
            }
        }
    }

    private void expect(Cell cell, Object wanted, String what, Object found) {
        if (!wanted.equals(found)) {
            cell.complaints.add(
                    fault + " at " + cell.where() + ": " + what + "? expected " + wanted + ", was " + found);
        }
    }
}
