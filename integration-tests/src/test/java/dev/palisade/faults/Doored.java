package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;

import com.google.gson.JsonObject;
import dev.palisade.check.Marks;
import dev.palisade.check.Marks.Mark;
import dev.palisade.door.DoorProcess;
import dev.palisade.door.Step;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.guard.MarkFiles;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.Observed;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * A storage that admits everything, behind a door that guards it; between the two a link that can be harmed. The storage's
 * own log tells what was applied.
 */
final class Doored implements Front {
    /** The promise on which the door stands: the storage applies nothing later than this after the door lost sight of it. */
    static final Duration UNKNOWN_OUTCOME_TIMEOUT = Duration.ofSeconds(3);

    private static final Duration PATIENCE = Duration.ofMinutes(2);

    /** The door stops waiting for an answer. */
    private static final long LOSES_SIGHT_MILLIS = 500;

    /** The door tells the storage so; leaves the storage the rest of the promised time. */
    private static final long BACKEND_DEADLINE_MILLIS = 1_500;

    private final Installation installation;
    private final List<String> java;
    private final List<String> options;
    private final Duration unknownOutcomeTimeout;
    private final Observed observed = new Observed();
    private final Service backend;
    private final Link link;
    private Service door;

    /** @param options further ones of {@link DoorProcess}; the last of a name counts */
    Doored(Installation installation, String... options) {
        this(installation, List.of(), UNKNOWN_OUTCOME_TIMEOUT, options);
    }

    Doored(Installation installation, List<String> java, Duration unknownOutcomeTimeout, String... options) {
        this.installation = installation;
        this.java = java;
        this.unknownOutcomeTimeout = unknownOutcomeTimeout;
        this.options = new ArrayList<>(
                List.of("--unknown-outcome-timeout-millis", Long.toString(unknownOutcomeTimeout.toMillis())));
        this.options.addAll(List.of(options));
        this.backend = installation.objects("--guard", "off");
        this.link = new Link(backend.address(), Link.Deaths.HIDDEN);
        this.door = door("0");
    }

    private Service door(String port) {
        List<String> all = new ArrayList<>(List.of(
                "--port",
                port,
                "--backend",
                link.address(),
                "--patience-millis",
                Long.toString(LOSES_SIGHT_MILLIS),
                "--backend-deadline-millis",
                Long.toString(BACKEND_DEADLINE_MILLIS)));
        all.addAll(options);
        return installation.service("door", DoorProcess.class, java, observed::take, all.toArray(new String[0]));
    }

    @Override
    public Service service() {
        return door;
    }

    Link link() {
        return link;
    }

    Service backend() {
        return backend;
    }

    /** What the doors have said. */
    Observed observed() {
        return observed;
    }

    /** The next call at {@code step} stops there; {@link #awaitHeld}. */
    void hold(Step step) {
        door.child().send("hold " + step);
        door.child().await(line -> line.equals("armed"));
    }

    JsonObject awaitHeld(int from) {
        return awaitEvent(from, "held");
    }

    /** The first event of that name from number {@code from} on. */
    JsonObject awaitEvent(int from, String name) {
        return observed.await(from, name + " of the door", PATIENCE, event -> is(event, name));
    }

    /** When the present door opened its guard: monotonic, nanoseconds. */
    long openedNanos() {
        return observed.all().stream()
                .filter(event -> is(event, "open"))
                .mapToLong(event -> number(event, "at"))
                .max()
                .orElseThrow();
    }

    int count(String name) {
        return (int) observed.all().stream().filter(event -> is(event, name)).count();
    }

    @Override
    public void restart(Runnable between) {
        kill();
        between.run();
        start();
    }

    void kill() {
        door.child().kill();
    }

    void start() {
        door = door(door.port());
    }

    @Override
    public Marks marks(String when) throws IOException {
        Path marks = installation.home().resolve("marks");
        if (Files.notExists(marks)) {
            return new Marks(when, Map.of());
        }
        Path copy = Files.createTempDirectory(installation.home(), "marks-");
        try (Stream<Path> files = Files.list(marks)) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        Map<String, Mark> byResource = new HashMap<>();
        for (StoredMark stored : MarkFiles.marks(copy)) {
            var mark = stored.mark();
            String grant =
                    mark.exclusiveGrant() == null ? "" : mark.exclusiveGrant().toString();
            byResource.put(stored.resource(), new Mark(mark.exclusiveToken(), grant, mark.sharedToken()));
        }
        return new Marks(when, byResource);
    }

    /** Each is over when the door has noticed it: long before the promised time. */
    @Override
    public void suffer(Fault fault, Gatekeeper gatekeeper) {
        int from = observed.size();
        switch (fault) {
            case FREEZE_BACKEND -> {
                backend.child().pause();
                long lost = number(awaitEvent(from, "outcome-unknown"), "at");
                backend.child().resume();
                requireWithinPromise(lost);
            }
            case SLOW_BACKEND -> {
                link.delay(Duration.ofMillis(LOSES_SIGHT_MILLIS * 3 / 4));
                awaitEvent(from, "outcome-unknown");
                awaitEvent(from, "seen-again");
                link.delay(Duration.ZERO);
            }
            case CUT_BACKEND -> {
                link.hold();
                Awaitility.await().atMost(PATIENCE).until(() -> link.heldBytes() > 0);
                link.cut();
                awaitEvent(from, "outcome-unknown");
            }
            default -> throw new IllegalArgumentException(fault + " is not this one's");
        }
    }

    /** A machine so busy that the test itself broke the promise proves nothing, and says so. */
    void requireWithinPromise(long lostNanos) {
        if (System.nanoTime() - lostNanos > unknownOutcomeTimeout.toNanos() / 2) {
            throw new ScenarioFailed("this machine is too busy: the storage went on too late for the door's promise");
        }
    }

    @Override
    public void stop() {
        door.child().terminate();
        link.close(); // The storage would wait for connections whose other end is long dead.
        backend.child().terminate();
    }

    @Override
    public void close() {
        door.child().close();
        backend.child().close();
        link.close();
    }
}
