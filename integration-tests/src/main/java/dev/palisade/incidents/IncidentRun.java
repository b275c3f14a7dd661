package dev.palisade.incidents;

import dev.palisade.scenario.History;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Does the incidents of a {@link State} to one issuer after another, and keeps what was found after each. One thread uses it. */
final class IncidentRun<N extends Node> {
    private static final int FAULTS_TOLD = 10;

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
            Subject subject = store.subject(name).orElseThrow();
            long began = System.nanoTime();
            against(subject);
            out.println(store.command() + ": " + name + ", " + state.of(name).done() + " incidents, "
                    + (System.nanoTime() - began) / 1_000_000_000 + " s");
        }
        return state;
    }

    private void against(Subject subject) throws IOException {
        List<Incident<N>> kinds = state.kinds().stream()
                .map(kind -> store.incident(kind).orElseThrow())
                .toList();
        Schedule<Incident<N>> schedule = new Schedule<>(state.seed(), kinds);
        Figures before = state.of(subject.name());
        for (int i = 0; i < before.done(); i++) {
            schedule.next();
        }
        History file = History.silent("run", directory.resolve(subject.name() + ".jsonl"));
        long end = System.nanoTime() + Duration.ofSeconds(state.seconds()).toNanos();
        while (more(subject, end)) {
            try (Chapter<N> chapter = new Chapter<>(store, subject, file)) {
                chapter(subject, chapter, schedule, end);
            }
        }
    }

    private void chapter(Subject subject, Chapter<N> chapter, Schedule<Incident<N>> schedule, long end)
            throws IOException {
        Figures before = state.of(subject.name());
        boolean over = false;
        while (!over && more(subject, end)) {
            Schedule.Planned<Incident<N>> planned = schedule.next();
            chapter.happen(planned);
            state = state.with(subject.name(), before.plus(chapter.figures()));
            state.save(directory);
            over = chapter.tokensAreAhead()
                    || chapter.hasExcused()
                    || chapter.length() >= state.kinds().size();
        }
        if (subject.ours()) {
            chapter.faults().stream()
                    .limit(FAULTS_TOLD)
                    .forEach(fault -> out.println("FAILED: " + subject.name() + ": " + fault));
        }
    }

    private boolean more(Subject subject, long end) {
        int done = state.of(subject.name()).done();
        return state.incidents() > 0 ? done < state.incidents() : System.nanoTime() < end;
    }
}
