package dev.palisade.server.rpc;

import static dev.palisade.server.rpc.Served.acquire;
import static dev.palisade.server.rpc.Served.reason;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Mode;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One grant, held by several of one client one after another: each has a sequencer of its own. */
class TurnsRpcTest {
    private Served served;

    @BeforeEach
    void serve(@TempDir Path directory) throws Exception {
        served = new Served(directory);
    }

    @AfterEach
    void stop() throws Exception {
        served.close();
    }

    @Test
    void eachTurnHasTheNextTokenAndAGrantIdOfItsOwnAndTheNextGrantIsAboveThemAll() {
        Served.Stream stream = served.stream(1, 1);
        Granted granted = stream.granted(acquire("a", 1, 0).setTurns(3));
        assertThat(granted.getTurnsCount()).isEqualTo(2);
        long token = granted.getToken();
        GrantId id = GrantId.of(granted.getGrantId().toByteArray());
        assertThat(id.turn()).isZero();
        for (int turn = 1; turn <= 2; turn++) {
            Sequencer named = verified(granted.getTurns(turn - 1));
            assertThat(named.token().value()).isEqualTo(token + turn);
            assertThat(named.grant()).isEqualTo(id.turn(turn)).isNotEqualTo(id);
            assertThat(named.lock().value()).isEqualTo("a");
        }
        stream.release(granted);
        assertThat(stream.granted(acquire("a", 2, 0)).getToken())
                .isGreaterThanOrEqualTo(token + FencingToken.PER_GRANT);
    }

    @Test
    void whoWaitedGetsThemWithTheOffer() {
        Served.Stream holder = served.stream(1, 1);
        Served.Stream waiter = served.stream(2, 1);
        Granted first = holder.granted(acquire("a", 1, 0));
        waiter.ask(Call.newBuilder().setAcquire(acquire("a", 1, 60_000).setTurns(32)));
        holder.release(first);
        await().until(() -> !waiter.events.isEmpty());
        assertThat(waiter.events.get(0).getOffered().getGranted().getTurnsCount())
                .isEqualTo(31);
    }

    /** Which of them it is at, only its client knows. */
    @Test
    void everyTurnIsAliveForAsLongAsTheLease() {
        Served.Stream stream = served.stream(1, 1);
        Granted granted = stream.granted(acquire("a", 1, 0).setTurns(32));
        Granted other = stream.granted(acquire("b", 2, 0));
        List<ByteString> both = List.of(granted.getSequencer(), granted.getTurns(30));
        assertThat(both).allSatisfy(turn -> assertThat(isAlive(turn)).isTrue());
        stream.release(granted);
        assertThat(both).allSatisfy(turn -> assertThat(isAlive(turn)).isFalse());
        assertThat(isAlive(other.getSequencer())).isTrue();
    }

    @Test
    void theTokenOfAnyTurnNamesTheLeaseToAnOperator() {
        Granted granted = served.stream(1, 1).granted(acquire("a", 1, 0).setTurns(3));
        assertThat(forceReleased(granted.getToken() + FencingToken.PER_GRANT)).isZero();
        assertThat(forceReleased(granted.getToken() + 2)).isEqualTo(1);
        assertThat(isAlive(granted.getTurns(1))).isFalse();
    }

    private int forceReleased(long token) {
        return served.unary()
                .forceRelease(ForceReleaseRequest.newBuilder()
                        .setLock("a")
                        .setToken(token)
                        .setBy("ops")
                        .setWhy("stuck")
                        .build())
                .getReleased();
    }

    @Test
    void moreTurnsThanAGrantHasAreRefusedAndThoseOfSharedLocks() {
        List.of(
                        acquire("a", 1, 0).setTurns(33),
                        acquire("a", 1, 0).setTurns(-1),
                        acquire("a", 1, 0).setTurns(2).setMode(Mode.SHARED))
                .forEach(wrong -> assertThat(reason(catchThrowable(() -> served.unary()
                                .acquire(wrong.setSessionId(Served.session(1)).build()))))
                        .isEqualTo(Reason.MALFORMED_REQUEST));
    }

    private Sequencer verified(ByteString signed) {
        return served.keys.verifier("test").verify(SignedSequencer.of(signed.toByteArray()));
    }

    private boolean isAlive(ByteString signed) {
        return served.unary()
                .checkSequencer(
                        CheckSequencerRequest.newBuilder().setSequencer(signed).build())
                .getAlive();
    }
}
