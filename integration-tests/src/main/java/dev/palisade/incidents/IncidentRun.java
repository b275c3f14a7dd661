package dev.palisade.incidents;

import dev.palisade.scenario.History;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Run of incidents against one issuer after another; the state is saved after each incident. One thread uses it. */
final class IncidentRun<N extends Node> {
    private static final int FAULTS_SHOWN = 10;

    private final StoreUnderTest<N> store;
    private final Path directory;
    private final PrintStream out;
    private State state;

    IncidentRun(StoreUnderTest<N> store, Path directory, PrintStream out, State state) {
        this.store = store;
        this.directory = directory;
        this.out = out;
        this.state = state;
    }

    /** Returns the state at the end. */
    State run() throws IOException {
        state.save(directory);
        for (String name : state.against()) {
            IssuerUnderTest issuer = store.issuer(name).orElseThrow();
            long began = System.nanoTime();
            test(issuer);
            out.println(store.command() + ": " + name + ", " + state.of(name).done() + " incidents, "
                    + (System.nanoTime() - began) / 1_000_000_000 + " s");
        }
        return state;
    }

    private void test(IssuerUnderTest issuer) throws IOException {
        List<Incident<N>> kinds = state.kinds().stream()
                .map(kind -> store.incident(kind).orElseThrow())
                .toList();
        Schedule<Incident<N>> schedule = new Schedule<>(state.seed(), kinds);
        IncidentStatistics before = state.of(issuer.name());
        for (int i = 0; i < before.done(); i++) {
            schedule.next();
        }
        History file = History.silent("run", directory.resolve(issuer.name() + ".jsonl"));
        long end = System.nanoTime() + Duration.ofSeconds(state.seconds()).toNanos();
        while (continues(issuer, end)) {
            try (Campaign<N> campaign = new Campaign<>(store, issuer, file)) {
                runCampaign(issuer, campaign, schedule, end);
            }
        }
    }

    private void runCampaign(IssuerUnderTest issuer, Campaign<N> campaign, Schedule<Incident<N>> schedule, long end)
            throws IOException {
        IncidentStatistics before = state.of(issuer.name());
        boolean over = false;
        while (!over && continues(issuer, end)) {
            Schedule.Planned<Incident<N>> planned = schedule.next();
            campaign.inject(planned);
            state = state.with(issuer.name(), before.plus(campaign.statistics()));
            state.save(directory);
            over = campaign.hasTokensAhead()
                    || campaign.hasExcluded()
                    || campaign.injectedCount() >= state.kinds().size();
        }
        if (issuer.ours()) {
            campaign.faults().stream()
                    .limit(FAULTS_SHOWN)
                    .forEach(fault -> out.println("FAILED: " + issuer.name() + ": " + fault));
        }
    }

    private boolean continues(IssuerUnderTest issuer, long end) {
        int done = state.of(issuer.name()).done();
        return state.incidents() > 0 ? done < state.incidents() : System.nanoTime() < end;
    }
}
