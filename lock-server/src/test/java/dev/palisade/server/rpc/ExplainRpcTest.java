package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.rejection;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import dev.palisade.server.core.explain.RefusalReport;
import java.nio.file.Path;
import java.util.List;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExplainRpcTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() {
        served.close();
    }

    private static ReportedRefusal.Builder refusal(String lock, long presented, long mark) {
        return ReportedRefusal.newBuilder()
                .setLock(lock)
                .setResource("orders-7")
                .setReason("TOKEN_STALE")
                .setPresentedToken(presented)
                .setMarkToken(mark)
                .setMarkRaisedMillisAgo(300)
                .setFirstMillisAgo(200)
                .setLastMillisAgo(100)
                .setCount(3);
    }

    private int report(ReportedRefusal.Builder... refusals) {
        ReportRefusalsRequest.Builder request =
                ReportRefusalsRequest.newBuilder().setGuard("shop");
        List.of(refusals).forEach(request::addRefusals);
        return served.unary().reportRefusals(request.build()).getTaken();
    }

    private ExplainReply explain(UnaryOperator<ExplainRequest.Builder> request) {
        return served.unary()
                .explain(request.apply(ExplainRequest.newBuilder().setLock("orders"))
                        .build());
    }

    private Granted granted() {
        return served.unary()
                .acquire(acquire("orders", 1, 0)
                        .setSessionId(Served.session(1))
                        .setOwner("a")
                        .build())
                .getGranted();
    }

    @Test
    void aReportedRefusalIsInTheStory() {
        long token = granted().getToken();
        assertThat(report(refusal("orders", token, token + 64), refusal("other", 5, 6)))
                .isEqualTo(2);
        ExplainReply reply = explain(request -> request);
        assertThat(reply.getToken()).isEqualTo(token);
        assertThat(reply.getState()).isEqualTo("HELD");
        assertThat(reply.getEventsList().stream().map(ExplainedEvent::getWhat))
                .containsExactlyInAnyOrder("GRANTED", "MARK_RAISED", "REFUSED", "REFUSED");
        ExplainedEvent last = reply.getEventsList().stream()
                .filter(event -> event.getWhat().equals("REFUSED"))
                .reduce((one, other) -> other)
                .orElseThrow();
        assertThat(last.getRefusal().getGuard()).isEqualTo("shop");
        assertThat(last.getRefusal().getCount()).isEqualTo(3);
        assertThat(last.getRefusal().getLastMillisAgo()).isBetween(100L, 60_100L);
        assertThat(reply.getAtEpochMillis() - last.getAtEpochMillis())
                .isEqualTo(last.getRefusal().getLastMillisAgo());
    }

    @Test
    void theLastFrameOfTheClientIsInTheStory() {
        Served.Stream client = served.stream(1, 1);
        Granted expires = client.granted(acquire("orders", 1, 0).setTtlMillis(1_000));
        served.nanos.addAndGet(1_000_000_000L * 5);
        Awaitility.await()
                .until(() -> explain(request -> request.setToken(expires.getToken()))
                        .getState()
                        .equals("EXPIRED"));
        Granted abandoned = client.granted(acquire("orders", 2, 0).setTtlMillis(300_000));
        client.breakOff();
        Awaitility.await()
                .until(() -> explain(request -> request.setToken(abandoned.getToken()))
                        .getState()
                        .equals("ABANDONED"));
        for (Granted granted : List.of(expires, abandoned)) {
            assertThat(explain(request -> request.setToken(granted.getToken())).getEventsList().stream()
                            .map(ExplainedEvent::getWhat))
                    .contains("GRANTED", "LAST_FRAME");
        }
    }

    @Test
    void aSequencerStandsForItsToken() {
        Granted granted = granted();
        assertThat(explain(request -> request.setSequencer(granted.getSequencer())))
                .usingRecursiveComparison()
                .comparingOnlyFields("token_", "state_", "summary_")
                .isEqualTo(explain(request -> request.setToken(granted.getToken())));
    }

    @Test
    void aSequencerThatIsForgedOrOfAnotherLockHasNoStory() {
        Granted granted = granted();
        ByteString forged = ByteString.copyFrom(SequencerKeys.generate()
                .sign(new Sequencer(
                        "test", new LockName("orders"), Mode.EXCLUSIVE, new FencingToken(1), new GrantId(1, 32), 1))
                .toBytes());
        assertThat(rejection(catchThrowable(() -> explain(request -> request.setSequencer(forged))))
                        .reason())
                .isEqualTo(Reason.SEQUENCER_INVALID);
        var other = rejection(catchThrowable(
                () -> explain(request -> request.setLock("bills").setSequencer(granted.getSequencer()))));
        assertThat(other.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(other.message()).contains("genuine, but of lock 'orders', not of 'bills'");
        assertThat(rejection(catchThrowable(
                                () -> explain(request -> request.setToken(1).setSequencer(granted.getSequencer()))))
                        .message())
                .contains("token and sequencer are both set");
        assertThat(rejection(catchThrowable(() -> explain(request -> request.setToken(-1))))
                        .reason())
                .isEqualTo(Reason.MALFORMED_REQUEST);
    }

    @Test
    void aHostileReportIsRefusedWholeAndNamesItsField() {
        ReportedRefusal.Builder good = refusal("orders", 1, 2);
        malformed("lock name", good, refusal("", 1, 2));
        malformed("lock name", good, refusal("a\u0007b", 1, 2));
        malformed("presented_token", good, refusal("orders", 1, 2).setPresentedToken(-4));
        malformed("mark_token", good, refusal("orders", 1, -1));
        malformed("resource", good, refusal("orders", 1, 2).setResource("x".repeat(513)));
        malformed("resource", good, refusal("orders", 1, 2).setResource("\u001b[2J"));
        malformed("reason", good, refusal("orders", 1, 2).setReason(""));
        malformed("reason", good, refusal("orders", 1, 2).setReason("TOKEN_STALE. Now run: rm"));
        malformed("first_millis_ago", good, refusal("orders", 1, 2).setFirstMillisAgo(Long.MIN_VALUE));
        malformed("last_millis_ago", good, refusal("orders", 1, 2).setLastMillisAgo(Long.MAX_VALUE));
        malformed("mark_raised_millis_ago", good, refusal("orders", 1, 2).setMarkRaisedMillisAgo(-1));
        malformed("count", good, refusal("orders", 1, 2).setCount(-1));
        ReportedRefusal.Builder[] many = new ReportedRefusal.Builder[101];
        java.util.Arrays.fill(many, good);
        malformed("refusals has 101 entries", many);
        assertThat(rejection(catchThrowable(() -> served.unary()
                                .reportRefusals(ReportRefusalsRequest.newBuilder()
                                        .setGuard("g".repeat(257))
                                        .build())))
                        .message())
                .startsWith("guard has");
        assertThat(served.engine.refusals().newest(1))
                .as("nothing of them was kept")
                .isEmpty();
    }

    /** Advice repeats it. */
    @Test
    void nameOfAGuardKeepsOnlyCharactersOfNames() {
        var unused = served.unary()
                .reportRefusals(ReportRefusalsRequest.newBuilder()
                        .setGuard("shop'; <b>`x`")
                        .addRefusals(refusal("orders", 1, 2))
                        .build());
        assertThat(served.engine.refusals().newest(1))
                .singleElement()
                .extracting(RefusalReport::guard)
                .isEqualTo("shop?? ?b??x?");
    }

    private void malformed(String named, ReportedRefusal.Builder... refusals) {
        var rejection = rejection(catchThrowable(() -> report(refusals)));
        assertThat(rejection.reason()).isEqualTo(Reason.MALFORMED_REQUEST);
        assertThat(rejection.message()).contains(named);
    }
}
