package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Child;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** {@code palisade run} as long as all goes well: environment, streams, queue, exit codes. */
@Execution(ExecutionMode.CONCURRENT)
class RunIT {
    private static final String LOCK = "backup/db1";
    /** Of one lock, by the reference of settings. */
    private static final int WAITERS_MAX = 2_000;

    private final Shell shell = new Shell();

    @AfterEach
    void close() {
        shell.close();
    }

    private boolean free() throws InterruptedException {
        try (PalisadeClient onlooker = shell.client("onlooker")) {
            return onlooker.describe(LOCK).holders().isEmpty();
        }
    }

    @Test
    void theCommandFindsItsProofInTheEnvironmentAndItsExitCodeIsOurs() throws Exception {
        Shell.Ran ran = shell.run(
                "run",
                LOCK,
                "--",
                "sh",
                "-c",
                "echo $PALISADE_LOCK; echo $PALISADE_TOKEN; echo $PALISADE_SEQUENCER; exit 7");
        assertThat(ran.code()).isEqualTo(7);
        assertThat(ran.out()).hasSize(3).first().isEqualTo(LOCK);
        assertThat(Long.parseLong(ran.out().get(1))).isPositive();
        assertThat(ran.err()).isEmpty();
        Shell.Ran check = shell.here("check", ran.out().get(2));
        assertThat(check.code()).as("alive after the release").isEqualTo(1);
        assertThat(shell.run("run", LOCK, "--", "sh", "-c", line("check")).code())
                .isZero();
        assertThat(free()).isTrue();
    }

    /** The jar again, within a command. */
    private String line(String verb) {
        return String.join(" ", shell.line(verb));
    }

    @Test
    void theStandardStreamsAreTheCommandsOwn() {
        Child run = shell.start("run", LOCK, "--", "sh", "-c", "read line; echo \"heard $line\"; exit 3");
        run.send("hello");
        assertThat(run.await(line -> true)).isEqualTo("heard hello");
        assertThat(run.awaitExit()).isEqualTo(3);
    }

    @Test
    void anEndBySignalIsToldAsTheShellDoes() throws Exception {
        assertThat(shell.run("run", LOCK, "--", "sh", "-c", "kill -9 $$").code())
                .isEqualTo(137);
        assertThat(free()).isTrue();
    }

    @Test
    void aCommandThatIsNotThereIsToldBeforeTheLockIsAskedFor() throws Exception {
        assertThat(shell.run("run", LOCK, "--", "no-such-command").code()).isEqualTo(127);
        assertThat(shell.run("run", LOCK, "--", "/etc/passwd").code()).isEqualTo(126);
        assertThat(shell.here("history", LOCK, "--json").out()).isEmpty();
    }

    @Test
    void whoeverDoesNotGetTheLockIsToldWhoHasIt() throws Exception {
        try (PalisadeClient other = shell.client("me\u202e")) {
            Lease lease = other.acquire(LOCK);
            Shell.Ran tried = shell.run("run", LOCK, "--wait", "0s", "--", "touch", "never");
            assertThat(tried.code()).isEqualTo(120);
            assertThat(tried.err())
                    .singleElement()
                    .asString()
                    .startsWith("palisade run: " + LOCK + " is taken: held by me\\u{202e} since ");
            Shell.Ran quiet = shell.run("run", LOCK, "--wait", "0s", "--quiet", "--", "touch", "never");
            assertThat(quiet.code()).isEqualTo(120);
            assertThat(quiet.err()).isEmpty();
            shell.awaitNothingLeft();
            Shell.Ran waited = shell.run("run", LOCK, "--wait", "6s", "--", "touch", "never");
            assertThat(waited.code()).isEqualTo(121);
            assertThat(waited.err()).hasSize(2);
            assertThat(waited.err().get(0))
                    .startsWith("palisade run: waiting for " + LOCK + ": held by me")
                    .contains("token " + lease.token())
                    .endsWith("; position 1 of 1 in the queue");
            assertThat(shell.run("run", LOCK, "--wait", "2s", "--quiet", "--", "true")
                            .err())
                    .hasSize(1);
            Child waiting = shell.start("run", LOCK, "--", "echo", "done");
            Awaitility.await()
                    .atMost(Shell.PATIENCE)
                    .until(() -> other.describe(LOCK).waitersTotal() == 1);
            lease.release();
            assertThat(waiting.await(line -> true)).isEqualTo("done");
            assertThat(waiting.awaitExit()).isZero();
        }
    }

    @Test
    void noServerIsToldWithinSecondsAndTheCommandDoesNotRun() throws Exception {
        long begun = System.nanoTime();
        Shell.Ran ran = shell.run("run", LOCK, "--server", "127.0.0.1:1", "--", "echo", "ran");
        assertThat(ran.code()).isEqualTo(123);
        assertThat(ran.out()).isEmpty();
        assertThat(ran.err())
                .singleElement()
                .asString()
                .contains("no reply from the lock server at 127.0.0.1:1 (connection refused)");
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(15));
    }

    /** The server has decided, so trying again does not help; that no server decides is 123. */
    @Test
    void rejectionByTheServerHasItsOwnExitCode() throws Exception {
        try (PalisadeClient other = shell.client("other")) {
            other.acquire(LOCK);
            // Each with a purpose of its own: requests that are alike would share one place in the queue.
            for (int i = 0; i < WAITERS_MAX; i++) {
                var unused = other.acquireAsync(
                        LOCK, AcquireOptions.waiting(Duration.ofMinutes(5)).purpose("waiter " + i));
            }
            Awaitility.await()
                    .atMost(Shell.PATIENCE)
                    .until(() -> other.describe(LOCK).waitersTotal() == WAITERS_MAX);
            Shell.Ran ran = shell.run("run", LOCK, "--", "echo", "ran");
            assertThat(ran.code()).isEqualTo(119);
            assertThat(ran.out()).isEmpty();
            assertThat(ran.err()).last().asString().startsWith("palisade run: ");
            Shell.Ran acquire = shell.here("acquire", LOCK);
            assertThat(acquire.code()).isEqualTo(5);
            assertThat(acquire.err()).singleElement().asString().startsWith("palisade acquire: QUEUE_FULL: ");
        }
    }

    @Test
    void aSignalIsPassedOnAndTheLockIsGivenBack() throws Exception {
        Shell.Running running = shell.stubborn(LOCK, "--kill-after", "1s");
        Shell.signal("INT", running.palisade().pid());
        running.palisade().await(line -> line.equals("asked to end"));
        assertThat(running.palisade().awaitExit()).isEqualTo(130);
        assertThat(running.commandAlive()).isFalse();
        assertThat(free()).isTrue();
        Child polite =
                shell.start("run", LOCK, "--", "sh", "-c", "trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done");
        polite.await(line -> line.equals("up"));
        assertThat(polite.terminate()).isEqualTo(143);
        assertThat(free()).isTrue();
    }

    @Test
    void whoeverWaitsAndIsEndedLeavesTheQueue() throws Exception {
        try (PalisadeClient other = shell.client("other")) {
            other.acquire(LOCK);
            Child waiting = shell.start("run", LOCK, "--", "true");
            Awaitility.await()
                    .atMost(Shell.PATIENCE)
                    .until(() -> other.describe(LOCK).waitersTotal() == 1);
            assertThat(waiting.terminate()).isEqualTo(143);
            Awaitility.await()
                    .atMost(Shell.PATIENCE)
                    .until(() -> other.describe(LOCK).waitersTotal() == 0);
        }
    }

    @Test
    void whatTheCommandLeavesRunningIsEndedBeforeTheLockIsGivenBack() throws Exception {
        Path told = Files.createTempFile(shell.installation().home(), "pid", "");
        Shell.Ran ran = shell.run(
                "run",
                LOCK,
                "--kill-after",
                "1s",
                "--",
                "sh",
                "-c",
                "sh -c \"trap '' TERM; while :; do sleep 0.1; done\" & echo $! > " + told + "; exit 5");
        assertThat(ran.code()).isEqualTo(5);
        assertThat(Shell.alive(Long.parseLong(Files.readString(told).strip()))).isFalse();
    }

    @Test
    void readersHoldTheLockTogether() throws Exception {
        try (PalisadeClient other = shell.client("other")) {
            AcquireOptions shared = AcquireOptions.trying().shared();
            assertThat(other.tryAcquire(LOCK, shared)).isInstanceOf(AcquireResult.Granted.class);
            assertThat(shell.run("run", LOCK, "--shared", "--wait", "0s", "--", "true")
                            .code())
                    .isZero();
        }
    }

    @Test
    void withoutSetsidAShellGivesTheCommandItsGroup() throws Exception {
        Path tools = Files.createDirectory(shell.installation().home().resolve("tools"));
        Path bash = Path.of("/bin/bash");
        Assumptions.assumeTrue(Files.exists(bash), "no bash here");
        Files.createSymbolicLink(tools.resolve("sh"), bash);
        for (String tool : List.of("sleep", "cat")) {
            Files.createSymbolicLink(tools.resolve(tool), Path.of("/bin", tool));
        }
        Map<String, String> environment = Map.of("PATH", tools.toString());
        Shell.Running running = shell.stubborn(environment, LOCK, "--ttl", "2s", "--kill-after", "300ms");
        running.palisade().pause();
        running.awaitCommandGone(Duration.ofSeconds(5));
        running.palisade().resume();
        assertThat(running.palisade().awaitExit()).isEqualTo(122);
        Child reads =
                shell.start(environment, "run", LOCK, "--", "sh", "-c", "read line; echo \"heard $line\"; exit 3");
        reads.send("hello");
        assertThat(reads.await(line -> true)).isEqualTo("heard hello");
        assertThat(reads.awaitExit()).isEqualTo(3);
    }
}
