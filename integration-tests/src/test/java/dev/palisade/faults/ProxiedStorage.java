package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;

import com.google.gson.JsonObject;
import dev.palisade.check.Marks;
import dev.palisade.check.Marks.Mark;
import dev.palisade.faults.FaultRun.Fault;
import dev.palisade.guard.MarkFiles;
import dev.palisade.guard.MarkStore.StoredMark;
import dev.palisade.proxy.GuardProxy;
import dev.palisade.proxy.Step;
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
 * Storage that admits every call, behind a proxy with a guard. The link between the two can inject faults. The
 * storage's own log shows which calls were applied.
 */
final class ProxiedStorage implements Front {
    /** The proxy relies on it: the storage applies no call later than this after its outcome became unknown. */
    static final Duration UNKNOWN_OUTCOME_TIMEOUT = Duration.ofSeconds(3);

    private static final Duration WAIT_MAX = Duration.ofMinutes(2);

    /** The proxy waits this long for a reply. */
    private static final long REPLY_TIMEOUT_MILLIS = 500;

    /** The deadline of a forwarded call; leaves the storage the rest of the promised time. */
    private static final long BACKEND_DEADLINE_MILLIS = 1_500;

    private final Installation installation;
    private final List<String> java;
    private final List<String> options;
    private final Duration unknownOutcomeTimeout;
    private final Observed observed = new Observed();
    private final Service backend;
    private final Link link;
    private Service proxy;

    /** @param options further ones of {@link GuardProxy}; the last of a name counts */
    ProxiedStorage(Installation installation, String... options) {
        this(installation, List.of(), UNKNOWN_OUTCOME_TIMEOUT, options);
    }

    ProxiedStorage(Installation installation, List<String> java, Duration unknownOutcomeTimeout, String... options) {
        this.installation = installation;
        this.java = java;
        this.unknownOutcomeTimeout = unknownOutcomeTimeout;
        this.options = new ArrayList<>(
                List.of("--unknown-outcome-timeout-millis", Long.toString(unknownOutcomeTimeout.toMillis())));
        this.options.addAll(List.of(options));
        this.backend = installation.objects("--guard", "off");
        this.link = new Link(backend.address(), Link.Deaths.HIDDEN);
        this.proxy = proxy("0");
    }

    private Service proxy(String port) {
        List<String> all = new ArrayList<>(List.of(
                "--port",
                port,
                "--backend",
                link.address(),
                "--reply-timeout-millis",
                Long.toString(REPLY_TIMEOUT_MILLIS),
                "--backend-deadline-millis",
                Long.toString(BACKEND_DEADLINE_MILLIS)));
        all.addAll(options);
        return installation.service("proxy", GuardProxy.class, java, observed::take, all.toArray(new String[0]));
    }

    @Override
    public Service service() {
        return proxy;
    }

    Link link() {
        return link;
    }

    Service backend() {
        return backend;
    }

    /** The events of the proxies. */
    Observed observed() {
        return observed;
    }

    /** The next call at {@code step} stops there; {@link #awaitHeld}. */
    void hold(Step step) {
        proxy.child().send("hold " + step);
        proxy.child().await(line -> line.equals("armed"));
    }

    JsonObject awaitHeld(int from) {
        return awaitEvent(from, "held");
    }

    /** The first event of that name from number {@code from} on. */
    JsonObject awaitEvent(int from, String name) {
        return observed.await(from, name + " of the proxy", WAIT_MAX, event -> is(event, name));
    }

    /** When the present proxy opened its guard: monotonic, nanoseconds. */
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
        proxy.child().kill();
    }

    void start() {
        proxy = proxy(proxy.port());
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

    /** Each fault is over when the proxy has noticed it: long before the promised time. */
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
                link.delay(Duration.ofMillis(REPLY_TIMEOUT_MILLIS * 3 / 4));
                awaitEvent(from, "outcome-unknown");
                awaitEvent(from, "seen-again");
                link.delay(Duration.ZERO);
            }
            case CUT_BACKEND -> {
                link.hold();
                Awaitility.await().atMost(WAIT_MAX).until(() -> link.heldBytes() > 0);
                link.cut();
                awaitEvent(from, "outcome-unknown");
            }
            default -> throw new IllegalArgumentException(fault + " is not this one's");
        }
    }

    /** A machine so busy that the test itself broke the promise proves nothing, and says so. */
    void requireWithinPromise(long unknownNanos) {
        if (System.nanoTime() - unknownNanos > unknownOutcomeTimeout.toNanos() / 2) {
            throw new ScenarioFailed("this machine is too busy: the storage went on too late for the proxy's promise");
        }
    }

    @Override
    public void stop() {
        proxy.child().terminate();
        link.close(); // The storage would wait for connections whose other end is long dead.
        backend.child().terminate();
    }

    @Override
    public void close() {
        proxy.child().close();
        backend.child().close();
        link.close();
    }
}
