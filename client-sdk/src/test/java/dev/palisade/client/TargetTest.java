package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class TargetTest {
    private static final long MS = 1_000_000;
    private static final long TIMEOUT = 2_000 * MS;
    private static final long START = Long.MAX_VALUE - 3_000 * MS; // The clock of a machine may wrap.

    private final Transport transport = new Transport();
    private final Target target = new Target("one:1", transport);
    private long now = START;

    private static final class Transport extends ManagedChannel {
        private int replaced;
        private @Nullable ConnectivityState state = ConnectivityState.CONNECTING;

        @Override
        public void enterIdle() {
            replaced++;
        }

        @Override
        public ConnectivityState getState(boolean requestConnection) {
            assertThat(requestConnection).isFalse();
            if (state == null) {
                throw new UnsupportedOperationException("not told");
            }
            return state;
        }

        @Override
        public ManagedChannel shutdown() {
            return this;
        }

        @Override
        public ManagedChannel shutdownNow() {
            return this;
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return false;
        }

        @Override
        public String authority() {
            return "one:1";
        }

        @Override
        public <Q, R> ClientCall<Q, R> newCall(MethodDescriptor<Q, R> method, CallOptions options) {
            throw new AssertionError("called");
        }
    }

    private void standbyAnswers(long retryAfterMillis, boolean several) {
        target.attempt(now);
        transport.state = ConnectivityState.READY;
        now += 100 * MS;
        target.isStandby(now, retryAfterMillis * MS, several, TIMEOUT);
    }

    @Test
    void eachAttemptHasAFreshTransport() {
        for (int i = 1; i <= 3; i++) {
            target.attempt(now);
            assertThat(transport.replaced).isEqualTo(i);
        }
    }

    @Test
    void standbyKeepsItsTransportForFourConnectTimeouts() {
        for (int i = 0; i < 80; i++) {
            standbyAnswers(0, true);
            assertThat(transport.replaced).isEqualTo(1);
        }
        standbyAnswers(0, true);
        assertThat(transport.replaced).isEqualTo(2);
    }

    @Test
    void aTransportIsKeptForOneAttempt() {
        standbyAnswers(0, true);
        target.attempt(now);
        target.attempt(now);
        assertThat(transport.replaced).as("it did not answer again").isEqualTo(2);
    }

    @Test
    void aTransportThatIsNotReadyAnyMoreIsReplaced() {
        standbyAnswers(0, true);
        transport.state = ConnectivityState.TRANSIENT_FAILURE;
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(2);
    }

    /** It may be busy with a fleet: a new transport would be one more connection to take. */
    @Test
    void silentServerKeepsItsTransportForTwoConnectTimeouts() {
        target.attempt(now);
        now += TIMEOUT;
        target.isSilent(TIMEOUT);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(1);
        now += TIMEOUT;
        target.isSilent(TIMEOUT);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(2);
        transport.state = ConnectivityState.TRANSIENT_FAILURE;
        target.isSilent(TIMEOUT);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(3);
    }

    @Test
    void failuresPauseForUpToASecondUntilTheServerAnswers() {
        for (long pause : new long[] {250, 500, 1_000, 1_000}) {
            target.attempt(now);
            assertThat(target.pauseNanos(now)).isZero();
            target.failed(now);
            assertThat(target.pauseNanos(now)).isEqualTo(pause * MS);
        }
        target.welcomed();
        target.failed(now);
        assertThat(target.pauseNanos(now)).isEqualTo(250 * MS);
        standbyAnswers(0, true);
        target.failed(now);
        assertThat(target.pauseNanos(now)).isEqualTo(250 * MS);
    }

    @Test
    void thePauseAfterAFailureEndsWhenAServerOfFewClientsNamesThisOne() {
        target.failed(now);
        target.referred(true);
        assertThat(target.pauseNanos(now)).isEqualTo(250 * MS);
        target.referred(false);
        assertThat(target.pauseNanos(now)).isZero();
    }

    @Test
    void aSpareTransportThatAnsweredIsUsedByTheNextAttempt() {
        transport.state = ConnectivityState.READY;
        target.spareChecked(true, now);
        now += 29_000 * MS;
        target.attempt(now);
        assertThat(transport.replaced).isZero();
        now += 2_000 * MS;
        target.spareChecked(true, now - 31_000 * MS);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(1);
        target.spareChecked(false, now);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(3);
    }

    /**
     * Its age counts from the first attempt: a fleet would make its new connections after the first reply otherwise.
     */
    @Test
    void aSpareTransportIsKeptForAsLongAsAFreshOne() {
        transport.state = ConnectivityState.READY;
        target.spareChecked(true, now);
        now += 20_000 * MS;
        for (int i = 0; i < 80; i++) {
            standbyAnswers(0, true);
        }
        assertThat(transport.replaced).isZero();
        standbyAnswers(0, true);
        assertThat(transport.replaced).isEqualTo(1);
    }

    /** Behind it another server may be active by now, to which only a new connection leads. */
    @Test
    void aSingleAddressIsDialledAgainEachTime() {
        standbyAnswers(0, false);
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(2);
    }

    @Test
    void channelWithoutAKnownStateIsReplaced() {
        standbyAnswers(0, true);
        transport.state = null;
        target.attempt(now);
        assertThat(transport.replaced).isEqualTo(2);
    }

    @Test
    void pauseLastsAsAStandbyRequestsButTwoSecondsAtMost() {
        standbyAnswers(700, true);
        assertThat(target.pauseNanos(now + 300 * MS)).isEqualTo(400 * MS);
        assertThat(target.pauseNanos(now + 800 * MS)).isZero();
        standbyAnswers(10_000, true);
        assertThat(target.pauseNanos(now)).isEqualTo(2_000 * MS);
        target.referred(true);
        assertThat(target.pauseNanos(now)).isZero();
    }
}
