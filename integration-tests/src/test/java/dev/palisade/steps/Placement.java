package dev.palisade.steps;

import dev.palisade.client.Lease;
import dev.palisade.faults.Link;
import dev.palisade.steps.Cell.Placed;
import dev.palisade.steps.Site.Gateway;
import dev.palisade.steps.Step.Phase;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

/** Sends calls through the first gateway of a site, each of a lock of its own, and lets each stand still at its step. */
final class Placement {
    private final Lab lab;
    private final Site site;
    private final Gateway victim;
    private final Holders holders;
    private final Fault fault;

    Placement(Lab lab, Site site, Holders holders, Fault fault) {
        this.lab = lab;
        this.site = site;
        this.victim = site.gateways.get(0);
        this.holders = holders;
        this.fault = fault;
    }

    /** One cell for each step. */
    List<Cell> place(List<Step> steps) {
        List<Cell> cells = new ArrayList<>();
        steps.stream()
                .filter(step -> step.phase() != Phase.SENT)
                .sorted(Comparator.comparing(Placement::order))
                .forEach(step -> cells.add(placed(step)));
        holders.letAnotherCallPass(victim);
        steps.stream().filter(step -> step.phase() == Phase.SENT).forEach(step -> cells.add(placed(step)));
        return cells;
    }

    /** Calls that stand at the service first: what is withheld of the register may not stand for long. */
    private static int order(Step step) {
        return switch (step.phase()) {
            case GUARD -> 0;
            case LEFT, RECEIVED, HALF, WHOLE, APPLIED -> 1;
            case REGISTER, SENT -> 2;
        };
    }

    private Cell placed(Step step) {
        String key = site.key();
        Lease former = lab.acquire(key);
        String content = lab.content(1);
        try {
            return switch (step.phase()) {
                case REGISTER -> {
                    Hold hold = victim.relay.arm(step.number(), step.side(), false);
                    yield reached(new Cell(fault, step, key, former, content, send(key, former, content), hold));
                }
                case SENT -> {
                    victim.link.freeze(Link.Way.ONWARD);
                    Cell cell = new Cell(fault, step, key, former, content, send(key, former, content), null);
                    Waits.until(() ->
                            cell.call.reply().isDone() || (victim.link.heldBytes() > 0 && site.registered(key) == 1));
                    yield cell;
                }
                case RECEIVED, HALF, WHOLE, APPLIED -> {
                    LoggedService.Step there =
                            LoggedService.Step.valueOf(step.phase().name());
                    yield new Cell(fault, step, key, former, content, sendUntil(there, key, former, content), null);
                }
                case LEFT -> {
                    Cell cell = new Cell(fault, step, key, former, content, send(key, former, content), null);
                    Waits.until(() -> cell.call.reply().isDone() && site.registered(key) == 0);
                    yield cell;
                }
                case GUARD -> {
                    HttpCall call = sendUntil(LoggedService.Step.WHOLE, key, former, content);
                    Hold hold = victim.relay.arm(step.number(), step.side(), true);
                    yield reached(new Cell(fault, step, key, former, content, call, hold));
                }
            };
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private HttpCall send(String key, Lease lease, String content) throws IOException {
        return HttpCall.put(victim.port(), key, lease, content).sendFirstHalf().sendSecondHalf();
    }

    private HttpCall sendUntil(LoggedService.Step step, String key, Lease lease, String content) throws IOException {
        lab.backend.hold(key, step);
        HttpCall call = HttpCall.put(victim.port(), key, lease, content).sendFirstHalf();
        if (step != LoggedService.Step.HALF) {
            call.sendSecondHalf();
        }
        Waits.until(() -> lab.backend.isHeld(key) || call.reply().isDone());
        if (!lab.backend.isHeld(key)) {
            lab.backend.go(key, 0); // It was refused.
        }
        return call;
    }

    private Cell reached(Cell cell) {
        Hold hold = Objects.requireNonNull(cell.hold);
        Waits.until(() -> hold.withheld().isDone() || isOver(cell));
        if (!hold.withheld().isDone()) {
            victim.relay.disarm();
            cell.placed = lab.backend.hasApplied(cell.content) ? Placed.NO_SUCH_STEP : Placed.MISSED;
        }
        return cell;
    }

    private boolean isOver(Cell cell) {
        return cell.step.phase() != Phase.GUARD && cell.call.reply().isDone() && site.registered(cell.key) == 0;
    }

    /** Whether something else is withheld than this call: it has passed the round trip at which it should stand. */
    boolean isElsewhere(Cell cell) {
        boolean applied = lab.backend.hasApplied(cell.content);
        if (cell.step.phase() != Phase.REGISTER) {
            boolean isRefused = cell.call.reply().isDone() && cell.step.phase() != Phase.LEFT;
            return isRefused || applied != (cell.step.phase() == Phase.APPLIED || cell.step.phase() == Phase.LEFT);
        }
        cell.leaves = applied;
        return site.registered(cell.key) != (applied == cell.isCommitted() ? 0 : 1);
    }
}
