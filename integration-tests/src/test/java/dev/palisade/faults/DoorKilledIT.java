package dev.palisade.faults;

import static dev.palisade.faults.DoorHouse.PATIENCE;
import static dev.palisade.faults.DoorHouse.assertApplied;
import static dev.palisade.faults.DoorHouse.violations;
import static dev.palisade.scenario.Observed.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Marks.Mark;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.door.Step;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.scenario.TimingSensitive;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** kill -9 of the door at every step of a call, each placed: the door stands there, or the link holds the call, when it dies. */
@TimingSensitive("The door promises that a lost call ends within two seconds.")
class DoorKilledIT {
    private static final Duration PROMISE = Duration.ofSeconds(2);

    private static DoorHouse house(Duration unknownOutcomeTimeout, String... options) {
        // The door waits long for its answers, so that only its death and the promised time end anything here.
        List<String> all = new ArrayList<>(List.of("--patience-millis", "20000", "--backend-deadline-millis", "20000"));
        all.addAll(List.of(options));
        return new DoorHouse(
                installation -> new Doored(installation, List.of(), unknownOutcomeTimeout, all.toArray(new String[0])));
    }

    @Test
    void wheneverTheDoorDiesNobodyGetsInBeforeTheWaitAndTheFormerHolderNeverAgain() throws Exception {
        try (DoorHouse house = house(PROMISE)) {
            for (Step step : Step.values()) {
                killedAt(step, house);
            }
            killedWithOneCallOnTheWireAndOneBehindIt(house);

            Run run = house.finish();
            assertThat(violations(run)).isEmpty();
            assertThat(writes(run, Step.ARRIVED.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.MARK_ASKED.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.MARK_KEPT.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.LET_IN.name())).containsExactly("first", "newer");
            assertThat(writes(run, Step.ANSWERED.name()))
                    .as("applied, though nobody was told")
                    .containsExactly("first", "second", "newer");
            assertThat(writes(run, "ON_THE_WIRE"))
                    .as("applied after the door's death, and before anyone else got in")
                    .containsExactly("first", "first", "newer");
        }
    }

    private static void killedAt(Step step, DoorHouse house) throws Exception {
        String key = step.name();
        Lease first = house.acquire(key);
        assertApplied(house.send(Verb.PUT, first));
        Lease idle = house.acquire("idle/" + key);
        assertApplied(house.send(Verb.PUT, idle));
        first.release();
        Lease second = house.acquire(key);

        int from = house.front.observed().size();
        house.front.hold(step);
        CompletableFuture<Optional<Rejection>> lost = house.begin(Verb.PUT, second);
        assertThat(text(house.front.awaitHeld(from), "step")).isEqualTo(step.name());
        house.killDoor();
        assertThat(lost).as("the call that was at " + step).failsWithin(PATIENCE);
        boolean kept = step.compareTo(Step.MARK_KEPT) >= 0;
        assertThat(exclusive(house, key))
                .as("mark kept when the door died at " + step)
                .isEqualTo((kept ? second : first).token().value());

        house.startDoor();
        CompletableFuture<Long> idleIn = house.begin(Verb.GET, idle).thenApply(answer -> {
            assertApplied(answer);
            return System.nanoTime();
        });
        second.release();
        takenOver(house, house.acquire(key), List.of(first, second));
        assertThat(idleIn)
                .as("a grant that was in already waits like any other")
                .succeedsWithin(PATIENCE)
                .satisfies(at -> assertAfterTheWait(house, at));
    }

    private static void killedWithOneCallOnTheWireAndOneBehindIt(DoorHouse house) throws Exception {
        Lease first = house.acquire("ON_THE_WIRE");
        assertApplied(house.send(Verb.PUT, first));
        house.front.link().hold();
        CompletableFuture<Optional<Rejection>> running = house.begin(Verb.PUT, first);
        Awaitility.await().atMost(PATIENCE).until(() -> house.front.link().heldBytes() >= Caller.CONTENT_BYTES);
        first.release();
        Lease second = house.acquire("ON_THE_WIRE");
        int from = house.front.observed().size();
        house.front.hold(Step.MARK_KEPT);
        CompletableFuture<Optional<Rejection>> waiting = house.begin(Verb.PUT, second);
        house.front.awaitHeld(from);
        house.front.service().child().send("go");

        house.killDoor();
        assertThat(waiting).failsWithin(PATIENCE);
        assertThat(exclusive(house, "ON_THE_WIRE")).isEqualTo(second.token().value());
        house.startDoor();
        house.front.link().release();
        house.front.requireWithinPromise(house.front.openedNanos());
        second.release();
        takenOver(house, house.acquire("ON_THE_WIRE"), List.of(first, second));
        assertThat(running).failsWithin(PATIENCE);
    }

    /** The newer grant gets in, not before the wait is over, and nobody older ever again. */
    private static void takenOver(DoorHouse house, Lease newer, List<Lease> older) {
        assertApplied(house.send(Verb.PUT, newer));
        assertAfterTheWait(house, System.nanoTime());
        for (Lease lease : older) {
            for (Verb verb : List.of(Verb.PUT, Verb.GET)) {
                assertThat(house.send(verb, lease))
                        .as(verb + " under " + lease)
                        .get()
                        .extracting(Rejection::reason)
                        .isEqualTo(Reason.TOKEN_STALE);
            }
        }
    }

    private static void assertAfterTheWait(DoorHouse house, long atNanos) {
        assertThat(atNanos - house.front.openedNanos())
                .as("nanoseconds since the door was opened again")
                // The guard's own start comes a little before the door says that it is open.
                .isGreaterThanOrEqualTo(PROMISE.minusMillis(200).toNanos());
    }

    private static long exclusive(DoorHouse house, String key) throws Exception {
        Mark none = new Mark(0, "", 0);
        return house.front.marks("now").byResource().getOrDefault(key, none).exclusiveToken();
    }

    /** Who wrote: the first, second or newest grant of the lock, in the order of the log. */
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
    void aDoorThatForgetsItsMarksAndOpensAtOnceIsFoundByWhatGotThrough() throws Exception {
        try (DoorHouse house = house(Duration.ZERO, "--marks", "volatile")) {
            Lease former = house.acquire("forgotten");
            assertApplied(house.send(Verb.PUT, former));
            former.release();
            Lease holder = house.acquire("forgotten");
            assertApplied(house.send(Verb.PUT, holder));
            Lease late = house.acquire("late");
            assertApplied(house.send(Verb.PUT, late));
            house.front.link().hold();
            CompletableFuture<Optional<Rejection>> running = house.begin(Verb.PUT, late);
            Awaitility.await().atMost(PATIENCE).until(() -> house.front.link().heldBytes() >= Caller.CONTENT_BYTES);

            house.killDoor();
            house.startDoor();
            assertThat(running).failsWithin(PATIENCE);
            assertApplied(house.send(Verb.PUT, former));
            late.release();
            Lease next = house.acquire("late");
            assertApplied(house.send(Verb.GET, next));
            assertApplied(house.send(Verb.PUT, next));
            house.front.link().release();
            Awaitility.await().atMost(PATIENCE).until(() -> house.version("late") == 3);

            assertThat(violations(house.finish()))
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
