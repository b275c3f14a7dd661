package dev.palisade.faults;

import static dev.palisade.faults.ProxyFixture.WAIT_MAX;
import static dev.palisade.faults.ProxyFixture.assertApplied;
import static dev.palisade.faults.ProxyFixture.violations;
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

/** The storage behind the proxy sends no reply: it is stopped, or its connection broke. */
@TimingSensitive("The proxy promises that a call with an unknown outcome ends within seconds.")
class SilentStorageIT {
    private static final String KEY = "account/1";

    /** Long enough for a healthy storage to reply on a busy machine. */
    private static final String REPLY_TIMEOUT_MILLIS = "2000";

    private static ProxyFixture fixture(Duration promise, String... options) {
        List<String> all =
                new ArrayList<>(List.of("--wait-millis", "500", "--reply-timeout-millis", REPLY_TIMEOUT_MILLIS));
        all.addAll(List.of(options));
        return new ProxyFixture(
                installation -> new ProxiedStorage(installation, List.of(), promise, all.toArray(new String[0])));
    }

    @Test
    void frozenStorageBlocksTheNextGrantUntilItReplies() throws Exception {
        Duration promise = Duration.ofSeconds(25);
        // The proxy waits for a late reply nearly as long as the promised time.
        try (ProxyFixture fixture = fixture(promise, "--backend-deadline-millis", "24000")) {
            Lease former = fixture.acquire(KEY);
            assertApplied(fixture.send(Verb.PUT, former));
            int from = fixture.front.observed().size();
            fixture.front.backend().child().pause();
            assertThat(fixture.send(Verb.PUT, former)).get().satisfies(unknown -> {
                assertThat(unknown.reason()).isEqualTo(Reason.OUTCOME_UNKNOWN);
                assertThat(unknown.metadata()).containsEntry(Rejection.APPLIED, "unknown");
            });
            long unknownNanos = number(fixture.front.awaitEvent(from, "outcome-unknown"), "at");
            former.release();
            Lease holder = fixture.acquire(KEY);
            assertRefused(Reason.DRAINING, fixture.send(Verb.GET, holder));
            assertRefused(Reason.DRAINING, fixture.send(Verb.PUT, holder));
            assertRefused(Reason.TOKEN_STALE, fixture.send(Verb.PUT, former));

            fixture.front.backend().child().resume();
            fixture.front.awaitEvent(from, "seen-again");
            assertApplied(fixture.send(Verb.GET, holder));
            assertApplied(fixture.send(Verb.PUT, holder));
            assertThat(System.nanoTime() - unknownNanos)
                    .as("let in because the end is known, not because time has passed")
                    .isLessThan(promise.toNanos());

            assertInOrder(fixture.finish(), former, former, holder);
        }
    }

    @Test
    void brokenConnectionBlocksTheNextGrantForTheTimeout() throws Exception {
        Duration promise = Duration.ofSeconds(3);
        try (ProxyFixture fixture = fixture(promise, "--backend-deadline-millis", "2500")) {
            Lease former = fixture.acquire(KEY);
            assertApplied(fixture.send(Verb.PUT, former));
            int from = fixture.front.observed().size();
            fixture.front.link().hold();
            CompletableFuture<Optional<Rejection>> lost = fixture.begin(Verb.PUT, former);
            Awaitility.await().atMost(WAIT_MAX).until(() -> fixture.front.link().heldBytes() > 0);
            fixture.front.link().cut();
            assertRefused(Reason.OUTCOME_UNKNOWN, lost.get());
            long unknownNanos = number(fixture.front.awaitEvent(from, "outcome-unknown"), "at");
            former.release();
            Lease holder = fixture.acquire(KEY);

            assertRefused(Reason.DRAINING, fixture.send(Verb.PUT, holder));
            Awaitility.await().atMost(WAIT_MAX).until(() -> {
                Optional<Rejection> answer = fixture.send(Verb.PUT, holder);
                answer.ifPresent(rejection -> assertThat(rejection.reason()).isEqualTo(Reason.DRAINING));
                return answer.isEmpty();
            });
            assertThat(System.nanoTime() - unknownNanos).isGreaterThanOrEqualTo(promise.toNanos());

            assertInOrder(fixture.finish(), former, holder);
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
