package dev.palisade.cli.lease;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.TimedOut;
import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AcquireCommandTest {
    private record Ran(int code, String err) {}

    private static Ran acquire(ScriptedLocks locks, OutputStream to) {
        PrintStream outBefore = System.out;
        PrintStream errBefore = System.err;
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(to, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            int code = Commands.run(new AcquireCommand(), "x", "--server", locks.address(), "--timeout", "20s");
            return new Ran(code, err.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(outBefore);
            System.setErr(errBefore);
        }
    }

    @Test
    void leaseWhoseCredentialCannotBePrintedIsReleased() throws Exception {
        try (ScriptedLocks locks = new ScriptedLocks();
                OutputStream full = new FileOutputStream("/dev/full")) {
            Ran ran = acquire(locks, full);
            assertThat(locks.calls()).containsExactly("acquire 1", "renew 1", "leave 1");
            assertThat(ran.code()).isEqualTo(ExitCodes.NOT_WRITTEN);
            assertThat(ran.err())
                    .isEqualTo("palisade acquire: the output could not be written, so the lock is not kept\n");
        }
    }

    @Test
    void leaseWhoseCredentialIsPrintedIsKept() throws Exception {
        try (ScriptedLocks locks = new ScriptedLocks()) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Ran ran = acquire(locks, out);
            assertThat(locks.calls()).containsExactly("acquire 1", "renew 1");
            assertThat(ran).isEqualTo(new Ran(ExitCodes.OK, ""));
            assertThat(out.toString(StandardCharsets.UTF_8)).contains("PALISADE_LEASE=");
        }
    }

    @Test
    void waitThatEndsInARecoveryIsNoDecision() throws Exception {
        try (ScriptedLocks locks = new ScriptedLocks()) {
            locks.next(AcquireReply.newBuilder()
                    .setTimedOut(TimedOut.newBuilder().setRecoveringMillis(7_000))
                    .build());
            Ran ran = acquire(locks, new ByteArrayOutputStream());
            assertThat(locks.calls()).containsExactly("acquire 1");
            assertThat(ran)
                    .isEqualTo(new Ran(
                            ExitCodes.NO_ANSWER,
                            "palisade acquire: no lock is granted for another 7.0 s, because the store lost data; "
                                    + "wait longer, or try again then\n"));
        }
    }
}
