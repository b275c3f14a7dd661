package dev.palisade.cli.lease;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.cli.Commands;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A lease that the store of the lock server has lost. */
@Timeout(60)
class LeaseCommandTest {
    private static final Rejection NOT_HOLDER = new Rejection(Reason.NOT_HOLDER, "scripted");
    private static final String LEASE = new LeaseCredential(
                    "x",
                    ByteString.copyFrom(new byte[SessionId.BYTES]),
                    ByteString.copyFrom(new byte[GrantId.BYTES]),
                    33,
                    ByteString.copyFromUtf8("signed"),
                    60_000,
                    0,
                    0,
                    "",
                    "me")
            .toText();

    private static int run(LeaseCommand command, ScriptedLocks locks) {
        return Commands.run(command, LEASE, "--server", locks.address(), "--timeout", "20s");
    }

    @Test
    void forgottenLeaseIsReclaimedAndThenReleased() throws Exception {
        try (ScriptedLocks locks = new ScriptedLocks()) {
            locks.next(NOT_HOLDER);
            assertThat(run(new ReleaseCommand(), locks)).isEqualTo(ExitCodes.OK);
            assertThat(locks.calls()).containsExactly("release 1", "resume 1", "release 1");
        }
    }

    @Test
    void forgottenLeaseIsReclaimedByItsRenewal() throws Exception {
        try (ScriptedLocks locks = new ScriptedLocks()) {
            locks.next(NOT_HOLDER);
            assertThat(run(new RenewCommand(), locks)).isEqualTo(ExitCodes.OK);
            assertThat(locks.calls()).startsWith("renew 1", "resume 1");
        }
    }

    @Test
    void leaseThatCannotBeReclaimedHasEnded() throws Exception {
        for (LeaseCommand command : new LeaseCommand[] {new ReleaseCommand(), new RenewCommand()}) {
            try (ScriptedLocks locks = new ScriptedLocks()) {
                locks.next(NOT_HOLDER);
                locks.next(NOT_HOLDER);
                assertThat(run(command, locks)).isEqualTo(ExitCodes.NO);
                assertThat(locks.calls()).hasSize(2).last().isEqualTo("resume 1");
            }
        }
    }
}
