package dev.palisade.faults;

import static dev.palisade.faults.ProxyFixture.WAIT_MAX;
import static dev.palisade.faults.ProxyFixture.assertApplied;
import static dev.palisade.faults.ProxyFixture.violations;
import static dev.palisade.scenario.Observed.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Marks.Mark;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.proxy.Step;
import dev.palisade.scenario.TimingSensitive;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * Kill -9 of the proxy at every step of a call. Either a breakpoint or the link holds the call when the proxy dies.
 */
@TimingSensitive("The proxy promises that a call with an unknown outcome ends within two seconds.")
class ProxyKilledIT {
    private static final Duration PROMISE = Duration.ofSeconds(2);

    private static ProxyFixture fixture(Duration unknownOutcomeTimeout, String... options) {
        // The proxy waits long for its answers, so that only its death and the promised time end anything here.
        List<String> all =
                new ArrayList<>(List.of("--reply-timeout-millis", "20000", "--backend-deadline-millis", "20000"));
        all.addAll(List.of(options));
        return new ProxyFixture(installation ->
                new ProxiedStorage(installation, List.of(), unknownOutcomeTimeout, all.toArray(new String[0])));
    }

    @Test
    void noCallIsAdmittedBeforeTheWaitAfterAKillAtAnyStep() throws Exception {
        try (ProxyFixture fixture = fixture(PROMISE)) {
            for (Step step : Step.values()) {
                killedAt(step, fixture);
            }
            killedWithOneCallOnTheWireAndOneBehindIt(fixture);

            Run run = fixture.finish();
            assertThat(violations(run)).isEmpty();
            assertThat(writes(run, Step.ARRIVED.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.MARK_ASKED.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.MARK_KEPT.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.LET_IN.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.ANSWERED.name()))
                    .as("applied, though no caller was notified")
                    .containsExactly("first", "second", "newer");
            assertThat(writes(run, "ON_THE_WIRE"))
                    .as("applied after the proxy's death, and before anyone else got in")
                    .containsExactly("first", "first", "newer");
        }
    }

    private static void killedAt(Step step, ProxyFixture fixture) throws Exception {
        String key = step.name();
        Lease first = fixture.acquire(key);
        assertApplied(fixture.send(Verb.PUT, first));
        Lease idle = fixture.acquire("idle/" + key);
        assertApplied(fixture.send(Verb.PUT, idle));
        first.release();
        Lease second = fixture.acquire(key);

        int from = fixture.front.observed().size();
        fixture.front.hold(step);
        CompletableFuture<Optional<Rejection>> lost = fixture.begin(Verb.PUT, second);
        assertThat(text(fixture.front.awaitHeld(from), "step")).isEqualTo(step.name());
        fixture.killProxy();
        assertThat(lost).as("the call that was at " + step).failsWithin(WAIT_MAX);
        boolean kept = step.compareTo(Step.MARK_KEPT) >= 0;
        assertThat(exclusive(fixture, key))
                .as("mark kept when the proxy died at " + step)
                .isEqualTo((kept ? second : first).token().value());

        fixture.startProxy();
        CompletableFuture<Long> idleIn = fixture.begin(Verb.GET, idle).thenApply(answer -> {
            assertApplied(answer);
            return System.nanoTime();
        });
        second.release();
        takenOver(fixture, fixture.acquire(key), List.of(first, second));
        assertThat(idleIn)
                .as("a grant that was in already waits like any other")
                .succeedsWithin(WAIT_MAX)
                .satisfies(at -> assertAfterTheWait(fixture, at));
    }

    private static void killedWithOneCallOnTheWireAndOneBehindIt(ProxyFixture fixture) throws Exception {
        Lease first = fixture.acquire("ON_THE_WIRE");
        assertApplied(fixture.send(Verb.PUT, first));
        fixture.front.link().hold();
        CompletableFuture<Optional<Rejection>> running = fixture.begin(Verb.PUT, first);
        Awaitility.await().atMost(WAIT_MAX).until(() -> fixture.front.link().heldBytes() >= Caller.CONTENT_BYTES);
        first.release();
        Lease second = fixture.acquire("ON_THE_WIRE");
        int from = fixture.front.observed().size();
        fixture.front.hold(Step.MARK_KEPT);
        CompletableFuture<Optional<Rejection>> waiting = fixture.begin(Verb.PUT, second);
        fixture.front.awaitHeld(from);
        fixture.front.service().child().send("go");

        fixture.killProxy();
        assertThat(waiting).failsWithin(WAIT_MAX);
        assertThat(exclusive(fixture, "ON_THE_WIRE")).isEqualTo(second.token().value());
        int opened = fixture.front.observed().size();
        CompletableFuture<Void> late = CompletableFuture.runAsync(
                () -> { // The rest of the start takes its time.
                    fixture.front.awaitEvent(opened, "open");
                    fixture.front.link().release();
                    fixture.front.requireWithinPromise(fixture.front.openedNanos());
                });
        fixture.startProxy();
        assertThat(late).succeedsWithin(WAIT_MAX);
        second.release();
        takenOver(fixture, fixture.acquire("ON_THE_WIRE"), List.of(first, second));
        assertThat(running).failsWithin(WAIT_MAX);
    }

    /** The newer grant is admitted, not before the wait is over, and no older grant is ever admitted again. */
    private static void takenOver(ProxyFixture fixture, Lease newer, List<Lease> older) {
        assertApplied(fixture.send(Verb.PUT, newer));
        assertAfterTheWait(fixture, System.nanoTime());
        for (Lease lease : older) {
            for (Verb verb : List.of(Verb.PUT, Verb.GET)) {
                assertThat(fixture.send(verb, lease))
                        .as(verb + " under " + lease)
                        .get()
                        .extracting(Rejection::reason)
                        .isEqualTo(Reason.TOKEN_STALE);
            }
        }
    }

    private static void assertAfterTheWait(ProxyFixture fixture, long atNanos) {
        assertThat(atNanos - fixture.front.openedNanos())
                .as("nanoseconds since the proxy was opened again")
                // The guard's own start comes a little before the proxy says that it is open.
                .isGreaterThanOrEqualTo(PROMISE.minusMillis(200).toNanos());
    }

    private static long exclusive(ProxyFixture fixture, String key) throws Exception {
        Mark none = new Mark(0, "", 0);
        return fixture.front.marks("now").byResource().getOrDefault(key, none).exclusiveToken();
    }

    /** The writers, in the order of the log: the first, second or newest grant of the lock. */
    private static List<String> writes(Run run, String key) {
        List<Long> tokens = run.grants().stream()
                .filter(granted -> granted.lock().equals(key))
                .map(granted -> granted.token())
                .toList();
        assertThat(tokens).hasSize(3);
        return run.applied().stream()
                .filter(call -> call.key().equals(key) && call.write())
                .map(AppliedCall::token)
                .map(token -> List.of("first", "second", "newer").get(tokens.indexOf(token)))
                .toList();
    }

    @Test
    void volatileMarksWithoutAWaitAreFoundByTheCheckers() throws Exception {
        try (ProxyFixture fixture = fixture(Duration.ZERO, "--marks", "volatile")) {
            Lease former = fixture.acquire("forgotten");
            assertApplied(fixture.send(Verb.PUT, former));
            former.release();
            Lease holder = fixture.acquire("forgotten");
            assertApplied(fixture.send(Verb.PUT, holder));
            Lease late = fixture.acquire("late");
            assertApplied(fixture.send(Verb.PUT, late));
            fixture.front.link().hold();
            CompletableFuture<Optional<Rejection>> running = fixture.begin(Verb.PUT, late);
            Awaitility.await().atMost(WAIT_MAX).until(() -> fixture.front.link().heldBytes() >= Caller.CONTENT_BYTES);

            fixture.killProxy();
            fixture.startProxy();
            assertThat(running).failsWithin(WAIT_MAX);
            assertApplied(fixture.send(Verb.PUT, former));
            late.release();
            Lease next = fixture.acquire("late");
            assertApplied(fixture.send(Verb.GET, next));
            assertApplied(fixture.send(Verb.PUT, next));
            fixture.front.link().release();
            Awaitility.await().atMost(WAIT_MAX).until(() -> fixture.version("late") == 3);

            assertThat(violations(fixture.finish()))
                    .as("marks that were not kept")
                    .anySatisfy(
                            violation -> assertThat(violation).startsWith("P6:").contains("write of forgotten"))
                    .anySatisfy(violation ->
                            assertThat(violation).startsWith("P12:").contains("of forgotten"))
                    .as("no wait for the call that was on the wire")
                    .anySatisfy(
                            violation -> assertThat(violation).startsWith("P6:").contains("write of late"))
                    .anySatisfy(
                            violation -> assertThat(violation).startsWith("P7:").contains("write of late"));
        }
    }
}
