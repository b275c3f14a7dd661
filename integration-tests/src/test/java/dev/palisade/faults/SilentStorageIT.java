package dev.palisade.faults;

import static dev.palisade.faults.DoorHouse.PATIENCE;
import static dev.palisade.faults.DoorHouse.assertApplied;
import static dev.palisade.faults.DoorHouse.violations;
import static dev.palisade.scenario.Observed.number;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.scenario.TimingSensitive;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The storage behind the door says nothing: it stands still, or its connection broke. */
@TimingSensitive("The door promises that a lost call ends within seconds.")
class SilentStorageIT {
    private static final String KEY = "account/1";

    /** Long enough for a busy machine to answer in, when the storage is well. */
    private static final String PATIENCE_MILLIS = "2000";

    private static DoorHouse house(Duration promise, String... options) {
        List<String> all = new ArrayList<>(List.of("--wait-millis", "500", "--patience-millis", PATIENCE_MILLIS));
        all.addAll(List.of(options));
        return new DoorHouse(installation -> new Doored(installation, List.of(), promise, all.toArray(new String[0])));
    }

    @Test
    void aFrozenStorageKeepsTheNextGrantOutUntilItHasAnswered() throws Exception {
        Duration promise = Duration.ofSeconds(25);
        // The door listens for a late answer nearly as long as the promised time.
        try (DoorHouse house = house(promise, "--backend-deadline-millis", "24000")) {
            Lease former = house.acquire(KEY);
            assertApplied(house.send(Verb.PUT, former));
            int from = house.front.observed().size();
            house.front.backend().child().pause();
            assertThat(house.send(Verb.PUT, former)).get().satisfies(unknown -> {
                assertThat(unknown.reason()).isEqualTo(Reason.OUTCOME_UNKNOWN);
                assertThat(unknown.metadata()).containsEntry(Rejection.APPLIED, "unknown");
            });
            long lostNanos = number(house.front.awaitEvent(from, "outcome-unknown"), "at");
            former.release();
            Lease holder = house.acquire(KEY);
            assertRefused(Reason.DRAINING, house.send(Verb.GET, holder));
            assertRefused(Reason.DRAINING, house.send(Verb.PUT, holder));
            assertRefused(Reason.TOKEN_STALE, house.send(Verb.PUT, former));

            house.front.backend().child().resume();
            house.front.awaitEvent(from, "seen-again");
            assertApplied(house.send(Verb.GET, holder));
            assertApplied(house.send(Verb.PUT, holder));
            assertThat(System.nanoTime() - lostNanos)
                    .as("let in because the end is known, not because time has passed")
                    .isLessThan(promise.toNanos());

            assertInOrder(house.finish(), former, former, holder);
        }
    }

    @Test
    void aBrokenConnectionKeepsTheNextGrantOutForThePromisedTime() throws Exception {
        Duration promise = Duration.ofSeconds(3);
        try (DoorHouse house = house(promise, "--backend-deadline-millis", "2500")) {
            Lease former = house.acquire(KEY);
            assertApplied(house.send(Verb.PUT, former));
            int from = house.front.observed().size();
            house.front.link().hold();
            CompletableFuture<Optional<Rejection>> lost = house.begin(Verb.PUT, former);
            Awaitility.await().atMost(PATIENCE).until(() -> house.front.link().heldBytes() > 0);
            house.front.link().cut();
            assertRefused(Reason.OUTCOME_UNKNOWN, lost.get());
            long lostNanos = number(house.front.awaitEvent(from, "outcome-unknown"), "at");
            former.release();
            Lease holder = house.acquire(KEY);

            assertRefused(Reason.DRAINING, house.send(Verb.PUT, holder));
            Awaitility.await().atMost(PATIENCE).until(() -> {
                Optional<Rejection> answer = house.send(Verb.PUT, holder);
                answer.ifPresent(rejection -> assertThat(rejection.reason()).isEqualTo(Reason.DRAINING));
                return answer.isEmpty();
            });
            assertThat(System.nanoTime() - lostNanos).isGreaterThanOrEqualTo(promise.toNanos());

            assertInOrder(house.finish(), former, holder);
        }
    }

    private static void assertRefused(Reason reason, Optional<Rejection> answer) {
        assertThat(answer).get().extracting(Rejection::reason).isEqualTo(reason);
    }

    private static void assertInOrder(Run run, Lease... writers) {
        assertThat(violations(run)).isEmpty();
        assertThat(run.applied().stream().filter(AppliedCall::write).map(AppliedCall::token))
                .containsExactlyElementsOf(List.of(writers).stream()
                        .map(lease -> lease.token().value())
                        .toList());
    }
}
