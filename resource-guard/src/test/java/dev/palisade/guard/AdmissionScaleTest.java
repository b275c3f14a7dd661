package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Cost of {@link AdmissionControl} with as many waiting and running calls as a guard admits. */
class AdmissionScaleTest {
    private static final int CALLS = 10_000;

    private final AdmissionControl admission = new AdmissionControl("l", Mark.NONE, 0, 0, 0);

    /** Far below a second; with a quadratic comparison it takes hours. */
    @Test
    @Timeout(120)
    void manyCallsAreReplacedByManyOthers() {
        List<AdmissionRequest> running = calls(33);
        running.forEach(this::arriveAndSave);
        List<AdmissionRequest> waiting = calls(34);
        waiting.forEach(this::arriveAndSave);
        assertThat(admission.takeSuperseded()).containsExactlyInAnyOrderElementsOf(running);
        List<AdmissionRequest> leaving = waiting.subList(0, CALLS / 2);
        leaving.forEach(request -> admission.abandon(request, 0));
        running.forEach(request -> admission.ended(request, 0));
        assertThat(leaving).allMatch(request -> request.state() == AdmissionRequest.State.REFUSED);
        assertThat(waiting.subList(CALLS / 2, CALLS))
                .allMatch(request -> request.state() == AdmissionRequest.State.RUNNING);
    }

    @Test
    void callAdmittedAfterAStopRequestGetsOneToo() {
        AdmissionRequest early = arriveAndSave(request(Mode.SHARED, 32));
        AdmissionRequest overtaken = arriveAndSave(request(Mode.EXCLUSIVE, 33));
        assertThat(admission.takeSuperseded()).containsExactly(early);
        AdmissionRequest late = arriveAndSave(request(Mode.SHARED, 35));
        assertThat(overtaken.state()).isEqualTo(AdmissionRequest.State.REFUSED);
        assertThat(late.state()).isEqualTo(AdmissionRequest.State.RUNNING);
        arriveAndSave(request(Mode.EXCLUSIVE, 36));
        assertThat(admission.takeSuperseded()).containsExactly(late);
    }

    @Test
    void lastOrphanedWriteUnblocksItsOwnGrantBesideRunningCalls() {
        AdmissionRequest write = arriveAndSave(request(Mode.EXCLUSIVE, 33));
        AdmissionRequest another = arriveAndSave(request(Mode.EXCLUSIVE, 33));
        AdmissionRequest running = arriveAndSave(request(Mode.EXCLUSIVE, 33));
        admission.outcomeUnknown(write, 10);
        admission.outcomeUnknown(another, 20);
        AdmissionRequest waiting = arriveAndSave(request(Mode.EXCLUSIVE, 33));
        admission.advanceTime(10);
        assertThat(waiting.state()).isEqualTo(AdmissionRequest.State.WAITING);
        admission.advanceTime(20);
        assertThat(waiting.state()).isEqualTo(AdmissionRequest.State.RUNNING);
        assertThat(running.state()).isEqualTo(AdmissionRequest.State.RUNNING);
    }

    private AdmissionRequest arriveAndSave(AdmissionRequest request) {
        admission.arrive(request, 0);
        if (admission.mustSave()) {
            admission.markSaved(admission.mark(), 0);
        }
        return request;
    }

    private static List<AdmissionRequest> calls(long token) {
        return Stream.generate(() -> request(Mode.EXCLUSIVE, token))
                .limit(CALLS)
                .toList();
    }

    private static AdmissionRequest request(Mode mode, long token) {
        Access access = mode == Mode.SHARED ? Access.READ : Access.WRITE;
        LockName lock = new LockName("l");
        return new AdmissionRequest(
                new Sequencer("i", lock, mode, new FencingToken(token), new GrantId(1, token), 0), access, 0);
    }
}
