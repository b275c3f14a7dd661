package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation.Service;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * {@code palisade run} when the lock is lost: whatever is stopped or killed, the command has ended before somebody else gets the
 * lock; and where even the watchdog cannot act, the guard does.
 */
@Execution(ExecutionMode.CONCURRENT)
class LostIT {
    private static final String LOCK = "backup/db1";
    private static final Duration TTL = Duration.ofSeconds(3);
    private static final Duration KILL_AFTER = Duration.ofMillis(500);
    /** Scheduling on a busy machine. */
    private static final Duration SLACK = Duration.ofSeconds(3);

    private static final String[] SHORT = {"--ttl", "3s", "--kill-after", "500ms"};

    private final Shell shell = new Shell();

    @AfterEach
    void close() {
        shell.close();
    }

    /** Waits for the lock; when it is there, nothing of the command may be left. */
    private void nextHolderMeetsNobody(Shell.Running before) throws InterruptedException {
        try (PalisadeClient next = shell.client("next")) {
            Lease lease = next.acquire(LOCK, Shell.PATIENCE);
            assertThat(before.commandAlive())
                    .as("the command, when the next is granted")
                    .isFalse();
            lease.release();
        }
    }

    @Test
    void stoppedItsCommandIsDeadByTheLocalDeadlineAndBeforeAnotherIsGranted() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, SHORT);
        running.palisade().pause();
        running.awaitCommandGone(TTL.plus(KILL_AFTER).plus(SLACK));
        nextHolderMeetsNobody(running);
        running.palisade().resume();
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
    }

    @Test
    void killedItsCommandIsDeadBeforeAnotherIsGranted() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, "--ttl", "60s", "--kill-after", "500ms");
        ProcessHandle watchdog = Shell.watchdog(running.palisade());
        running.palisade().kill();
        running.awaitCommandGone(KILL_AFTER.plus(SLACK));
        nextHolderMeetsNobody(running);
        watchdog.onExit().get(60, TimeUnit.SECONDS);
        shell.awaitNothingLeft();
    }

    @Test
    void killedWithKillAtOnceItsCommandIsNotAsked() throws Exception {
        Shell.Running running =
                shell.stubborn(LOCK, "--ttl", "60s", "--kill-after", "59s", "--lock-delay", "0s", "--on-lost", "KILL");
        running.palisade().kill();
        running.awaitCommandGone(SLACK);
        nextHolderMeetsNobody(running);
    }

    @Test
    void withoutItsWatchdogItEndsTheCommandItself() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, SHORT);
        Shell.signal("KILL", Shell.watchdog(running.palisade()).pid());
        assertThat(running.palisade().awaitExit()).isEqualTo(125);
        assertThat(running.commandAlive()).isFalse();
        nextHolderMeetsNobody(running);
    }

    @Test
    void withItsWatchdogStoppedALostLockEndsTheCommandAllTheSame() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, SHORT);
        long watchdog = Shell.watchdog(running.palisade()).pid();
        Shell.signal("STOP", watchdog);
        shell.server().child().kill();
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
        assertThat(running.commandAlive()).isFalse();
    }

    /** Told at once that it is over, and opened again two seconds after the command must be gone. */
    @Test
    void withItsWatchdogStoppedAForcedReleaseLeavesNoCommandToTheNext() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, "--ttl", "60s", "--kill-after", "500ms");
        long watchdog = Shell.watchdog(running.palisade()).pid();
        Shell.signal("STOP", watchdog);
        try (PalisadeClient next = shell.client("next")) {
            CompletableFuture<Boolean> met = CompletableFuture.supplyAsync(() -> {
                try {
                    next.acquire(LOCK, Shell.PATIENCE);
                } catch (InterruptedException e) {
                    throw new CompletionException(e);
                }
                return running.commandAlive();
            });
            Awaitility.await().until(() -> next.describe(LOCK).waitersTotal() == 1);
            assertThat(shell.run("force-release", LOCK, "--why", "stuck").code())
                    .isZero();
            assertThat(met.get(60, TimeUnit.SECONDS))
                    .as("the command, when the next is granted")
                    .isFalse();
        }
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
    }

    @Test
    void withBothStoppedTheGuardRefusesWhatTheCommandWritesLate() throws Exception {
        Service objects = shell.installation().objects();
        try {
            Child first = shell.start(
                    "run",
                    LOCK,
                    "--ttl",
                    "2s",
                    "--kill-after",
                    "500ms",
                    "--",
                    "sh",
                    "-c",
                    "echo proof $PALISADE_SEQUENCER; sleep 600");
            String proof = first.await(line -> line.startsWith("proof ")).substring("proof ".length());
            put(objects, proof, "first");
            long watchdog = Shell.watchdog(first).pid();
            Shell.signal("STOP", watchdog);
            first.pause();
            Child second = shell.start("run", LOCK, "--", "sh", "-c", "echo proof $PALISADE_SEQUENCER");
            String newer = second.await(line -> line.startsWith("proof ")).substring("proof ".length());
            put(objects, newer, "second");
            StatusRuntimeException refused =
                    Assertions.catchThrowableOfType(StatusRuntimeException.class, () -> put(objects, proof, "late"));
            assertThat(Rejections.ofThrowable(refused).orElseThrow().reason()).isEqualTo(Reason.TOKEN_STALE);
            Shell.signal("CONT", watchdog);
            first.resume();
            assertThat(first.awaitExit()).isEqualTo(122);
        } finally {
            objects.child().kill();
        }
    }

    private static void put(Service objects, String proof, String text) {
        ManagedChannel channel = Grpc.newChannelBuilder(objects.address(), InsecureChannelCredentials.create())
                .build();
        try {
            Metadata headers = new Metadata();
            SequencerHeader.put(headers, SignedSequencer.ofText(proof));
            var unused = ObjectsGrpc.newBlockingStub(channel)
                    .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                    .withDeadlineAfter(10, TimeUnit.SECONDS)
                    .put(PutObjectRequest.newBuilder()
                            .setKey(LOCK)
                            .setContent(ByteString.copyFromUtf8(text))
                            .build());
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void withTheServerKilledTheCommandIsDeadByTheLocalDeadline() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, SHORT);
        shell.server().child().kill();
        running.awaitCommandGone(TTL.plus(KILL_AFTER).plus(SLACK));
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
    }

    @Test
    void aForcedReleaseEndsTheCommandLongBeforeTheDeadline() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, "--ttl", "60s", "--kill-after", "500ms");
        Shell.Ran forced = shell.run("force-release", LOCK, "--why", "stuck", "--by", "ops");
        assertThat(forced.code()).isZero();
        running.awaitCommandGone(KILL_AFTER.plus(SLACK));
        nextHolderMeetsNobody(running);
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
        assertThat(shell.run("history", LOCK).out()).anyMatch(line -> line.endsWith("by ops: stuck"));
    }

    @Test
    void whoeverIsAskedForTheLockGivesItBackUnlessToldOtherwise() throws Exception {
        Shell.Running stays = shell.stubborn("other", "--on-release-request", "ignore", "--ttl", "60s");
        assertThat(shell.run("request-release", "other", "--why", "please").code())
                .isZero();
        assertThat(stays.commandAlive()).isTrue();
        Shell.Running leaves = shell.stubborn(LOCK, "--ttl", "60s", "--kill-after", "500ms");
        assertThat(shell.run("request-release", LOCK, "--why", "please").code()).isZero();
        assertThat(leaves.palisade().awaitExit()).isEqualTo(122);
        assertThat(leaves.commandAlive()).isFalse();
        // Released, not lost: no lock-delay.
        assertThat(shell.run("run", LOCK, "--wait", "0s", "--", "true").code()).isZero();
        assertThat(stays.commandAlive()).isTrue();
        stays.palisade().kill();
    }
}
