package dev.palisade.bench;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.util.Map;

/** Runs parts, one after the other. A part that cannot be run is left out. */
final class BenchRun {
    private final Rounds rounds;
    private final Sizes sizes;
    private final Services services;
    private final Report report;

    BenchRun(Rounds rounds, Sizes sizes, Services services, Report report) {
        this.rounds = rounds;
        this.sizes = sizes;
        this.services = services;
        this.report = report;
    }

    void run(Part part) throws Exception {
        try {
            measure(part);
        } catch (ScenarioFailed e) {
            report.leaveOut(part + ": " + e.getMessage());
        } catch (RuntimeException e) {
            report.leaveOut(part + ": " + e); // Nobody foresaw it; the other parts are measured all the same.
        }
    }

    private void measure(Part part) throws Exception {
        LockParts locks = new LockParts(services, this::compare);
        switch (part) {
            case LOCKS -> {
                locks.ownLocks(1);
                locks.ownLocks(8);
                locks.ownLocks(64);
            }
            case ONE_KEY -> {
                locks.oneLock(8);
                locks.oneLock(64);
            }
            case HAND_OFF -> locks.handOff();
            case ASYNC -> {
                locks.asyncCallers(64, 64);
                locks.asyncCallers(512, 512);
                locks.asyncCallers(512, LockParts.NAMES);
            }
            case VIRTUAL -> locks.virtual(512);
            case GUARD -> GuardParts.run(this::compare);
            case SIGNATURES -> SignaturesPart.run(this::compare);
            case OBJECTS -> ObjectParts.run(services, this::compare);
            case GATEWAY -> GatewayPart.run(services, this::compare);
            case METRICS -> MetricsPart.run(services, this::compare);
            case IDLE -> {
                IdlePart idle = new IdlePart(services, rounds);
                report.add(idle.run(IdlePart.ONE, 1, sizes.ofOneSession()));
                report.add(idle.run(IdlePart.MANY, sizes.sessions(), sizes.ofManySessions()));
            }
            case NAMES -> report.add(NamesPart.run(services, sizes.names(), sizes.settle()));
            case START -> StartPart.run(services, this::compare);
            case TAKEOVER -> {
                TakeoverPart takeover = new TakeoverPart(services, rounds, sizes.connected());
                report.addAll(takeover.run(1, 1));
                if (sizes.clients() > 1) {
                    report.addAll(takeover.run(sizes.clients(), sizes.ofEachClient()));
                }
            }
        }
    }

    private void compare(Part part, String title, String base, Map<String, Contestant> contestants)
            throws InterruptedException, IOException {
        System.err.println(title);
        report.add(new Comparison(part, title, base, rounds.run(contestants, System.err)));
    }
}
