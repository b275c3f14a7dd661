package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Child;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The verbs that call a lock server: each once by the packaged jar, and for all else that it says in this process. */
@Execution(ExecutionMode.CONCURRENT)
class OperatorVerbsIT {
    private static final String LOCK = "job/1";

    private final Shell shell = new Shell();

    @AfterEach
    void close() {
        shell.close();
    }

    private JsonObject json(String... arguments) {
        Shell.Ran ran = shell.here(arguments);
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).hasSize(1);
        return JsonParser.parseString(ran.out().get(0)).getAsJsonObject();
    }

    @Test
    void aStuckLockIsFoundAskedForAndEnded() throws Exception {
        try (PalisadeClient holder = shell.client("holder")) {
            Lease lease = holder.acquire(LOCK);
            assertThat(shell.run("describe", LOCK).out())
                    .startsWith(LOCK + ": held")
                    .anyMatch(line -> line.startsWith("holder")
                            && line.contains(lease.token().toString()));
            assertThat(json("describe", LOCK, "--json").get("holders_total").getAsInt())
                    .isEqualTo(1);
            assertThat(json("list", "job/", "--json").get("lock").getAsString()).isEqualTo(LOCK);
            Shell.Ran none = shell.run("list", "other/", "--json");
            assertThat(none.out()).isEmpty();
            assertThat(none.code()).isZero();
            assertThat(shell.run("sessions").out()).anyMatch(line -> line.contains("holder"));
            JsonObject store = json("status", "--json");
            assertThat(store.get("up").getAsBoolean()).isTrue();
            assertThat(store.get("epoch"))
                    .isEqualTo(json("describe", LOCK, "--json").get("epoch"));
            assertThat(shell.run("status").out().get(0))
                    .startsWith("embedded at ")
                    .contains(": up since ");
            assertThat(json("check", lease.sequencer().toText(), "--json")
                            .get("alive")
                            .getAsBoolean())
                    .isTrue();
            assertThat(json("request-release", LOCK, "--why", "please", "--json")
                            .get("holders_asked")
                            .getAsInt())
                    .isEqualTo(1);
            assertThat(shell.run("force-release", LOCK, "--token", "1", "--why", "stuck")
                            .code())
                    .isEqualTo(1);
            assertThat(json("force-release", LOCK, "--why", "stuck", "--json")
                            .get("released")
                            .getAsInt())
                    .isEqualTo(1);
            assertThat(shell.run("check", lease.sequencer().toText()).code()).isEqualTo(1);
            assertThat(shell.run("request-release", LOCK, "--why", "please").code())
                    .isEqualTo(1);
            assertThat(shell.run("history", LOCK).out())
                    .last()
                    .asString()
                    .contains("FORCE_RELEASED")
                    .endsWith(": stuck");
        }
    }

    @Test
    void ofSeveralHoldersOneHasToBeNamed() throws Exception {
        AcquireOptions shared = AcquireOptions.trying().shared();
        try (PalisadeClient one = shell.client("one");
                PalisadeClient two = shell.client("two")) {
            one.tryAcquire(LOCK, shared);
            two.tryAcquire(LOCK, shared);
            Shell.Ran ran = shell.here("force-release", LOCK, "--why", "stuck");
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err())
                    .singleElement()
                    .asString()
                    .contains(LOCK + " has 2 holders; choose one with --token N");
            assertThat(shell.here("force-release", LOCK, "--why", "stuck", "--all")
                            .out())
                    .isEqualTo(List.of("ended 2 leases of " + LOCK));
        }
    }

    @Test
    void aMinimumHoldTimeOutlivesItsCommandUntilAnOperatorEndsIt() throws Exception {
        assertThat(shell.run("run", LOCK, "--at-least-for", "1h", "--", "true").code())
                .isZero();
        Shell.Ran again = shell.run("run", LOCK, "--wait", "0s", "--", "true");
        assertThat(again.code()).isEqualTo(120);
        assertThat(again.err()).last().asString().contains("is taken: in its minimum hold time");
        assertThat(shell.here("describe", LOCK).out().get(0)).startsWith(LOCK + ": free, in its minimum hold time for");
        assertThat(json("describe", LOCK, "--json").get("minimum_hold_millis").getAsLong())
                .isBetween(1L, 3_600_000L);
        Shell.Ran busy = shell.here("acquire", LOCK, "--wait", "0s");
        assertThat(busy.code()).isEqualTo(1);
        assertThat(busy.err())
                .singleElement()
                .asString()
                .startsWith(LOCK + " is not available yet: in its minimum hold time");
        Shell.Ran careful = shell.here("force-release", LOCK, "--why", "again");
        assertThat(careful.code()).isEqualTo(1);
        assertThat(careful.out()).singleElement().asString().endsWith("which --all ends");
        assertThat(shell.here("force-release", LOCK, "--why", "again", "--all").out())
                .isEqualTo(List.of("ended the minimum hold time of " + LOCK));
        assertThat(shell.here("history", LOCK).out())
                .last()
                .asString()
                .contains("FORCE_RELEASED")
                .endsWith(": again");
        assertThat(shell.here("acquire", LOCK, "--wait", "0s", "--at-least-for", "1m")
                        .code())
                .isZero();
        assertThat(shell.here("describe", LOCK).out()).anyMatch(line -> line.startsWith("minimum hold time: another "));
    }

    @Test
    void noServerAndRejectionAreOneLineEachAndDifferentExitCodes() throws Exception {
        Shell.Ran none = shell.run("describe", LOCK, "--server", "127.0.0.1:1");
        assertThat(none.code()).isEqualTo(3);
        assertThat(none.err())
                .singleElement()
                .asString()
                .startsWith("palisade describe: no reply from the lock server at 127.0.0.1:1 (connection refused)");
        Shell.Ran foreign = shell.here("check", "AAAA");
        assertThat(foreign.code()).isEqualTo(5);
        assertThat(foreign.err()).singleElement().asString().startsWith("palisade check: SEQUENCER_INVALID");
        Shell.Ran json = shell.here("check", "AAAA", "--json");
        assertThat(json.out()).isEmpty();
        JsonObject error = JsonParser.parseString(json.err().get(0)).getAsJsonObject();
        assertThat(error.get("exit_code").getAsInt()).isEqualTo(5);
        assertThat(error.get("reason").getAsString()).isEqualTo("SEQUENCER_INVALID");
    }

    @Test
    void leaseOfAcquireIsRenewedAndReleasedByLaterCommands() throws Exception {
        JsonObject acquired = json("acquire", LOCK, "--ttl", "5m", "--purpose", "dump", "--json");
        String lease = acquired.get("lease").getAsString();
        assertThat(acquired.get("acquired").getAsBoolean()).isTrue();
        assertThat(acquired.get("remaining_millis").getAsLong()).isBetween(1L, 300_000L);
        assertThat(shell.here("check", acquired.get("sequencer").getAsString()).code())
                .isZero();
        assertThat(shell.here("describe", LOCK).out())
                .anyMatch(line -> line.contains("dump")
                        && line.contains(acquired.get("token").getAsString()));

        Shell.Ran busy = shell.run("acquire", LOCK, "--wait", "0s");
        assertThat(busy.code()).isEqualTo(1);
        assertThat(busy.out()).isEmpty();
        assertThat(busy.err()).singleElement().asString().startsWith(LOCK + " is held by ");
        Shell.Ran late = shell.here("acquire", LOCK, "--wait", "100ms", "--json");
        assertThat(late.code()).isEqualTo(1);
        assertThat(late.out()).containsExactly("{\"lock\":\"" + LOCK + "\",\"acquired\":false}");

        Shell.Ran renewed = shell.run(Map.of("PALISADE_LEASE", lease), "renew");
        assertThat(renewed.code()).isZero();
        assertThat(renewed.out()).singleElement().asString().startsWith("renewed " + LOCK + " for ");
        // Two servers, one of which is away.
        Shell.Ran released = shell.run("release", lease, "--server", "127.0.0.1:1," + shell.serverAddress());
        assertThat(released.out()).containsExactly("released " + LOCK);
        assertThat(shell.here("renew", lease).code()).isEqualTo(1);
        assertThat(shell.here("describe", LOCK).out()).startsWith(LOCK + ": free");
    }

    @Test
    void waitingAcquireGetsTheFullLeaseAndIsEvaluatedByTheShell() throws Exception {
        JsonObject first = json("acquire", LOCK, "--json");
        Child waiting = shell.start("acquire", LOCK, "--ttl", "2m", "--json");
        Awaitility.await()
                .atMost(Shell.PATIENCE)
                .until(() -> shell.here("describe", LOCK).out().stream().anyMatch(line -> line.startsWith("1 ")));
        assertThat(shell.here("release", first.get("lease").getAsString()).code())
                .isZero();
        JsonObject second = JsonParser.parseString(waiting.await(line -> line.startsWith("{")))
                .getAsJsonObject();
        assertThat(second.get("token").getAsLong())
                .isGreaterThan(first.get("token").getAsLong());
        assertThat(waiting.awaitExit()).isZero();
        assertThat(shell.here("force-release", LOCK, "--why", "next").code()).isZero();
        Shell.Ran ended = shell.here("release", second.get("lease").getAsString(), "--json");
        assertThat(ended.code()).isEqualTo(1);
        assertThat(ended.out()).singleElement().asString().contains("\"released\":false,\"reason\":\"LEASE_EXPIRED\"");

        Shell.Ran text = shell.here("acquire", "it's", "--shared", "--wait", "0s");
        Process sh = new ProcessBuilder(
                        "sh", "-c", "eval \"$1\"; echo \"$PALISADE_LOCK\"", "sh", String.join("\n", text.out()))
                .start();
        assertThat(new String(sh.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                .isEqualTo("it's\n");
        assertThat(json("acquire", "it's", "--shared", "--wait", "0s", "--json")
                        .get("mode")
                        .getAsString())
                .isEqualTo("SHARED");
    }

    @Test
    void waitingAcquireOutlivesARestartOfTheServer() throws Exception {
        JsonObject first = json("acquire", LOCK, "--ttl", "5m", "--json");
        Child waiting = shell.start("acquire", LOCK, "--wait", "5m", "--json");
        Awaitility.await()
                .atMost(Shell.PATIENCE)
                .until(() -> shell.here("describe", LOCK).out().stream().anyMatch(line -> line.startsWith("1 ")));
        shell.server().child().kill();
        Child restarted =
                shell.installation().server("--port", shell.server().port()).child();
        try {
            assertThat(shell.here("release", first.get("lease").getAsString()).code())
                    .isZero();
            assertThat(waiting.await(line -> line.startsWith("{"))).contains("\"acquired\":true");
        } finally {
            restarted.close();
        }
    }

    @Test
    void watchPrintsEachHolderOnce() throws Exception {
        Child watch = shell.start("watch", LOCK, "--count", "3", "--interval", "50ms");
        assertThat(watch.await(line -> true)).endsWith(" " + LOCK + ": free");
        JsonObject acquired = json("acquire", LOCK, "--json");
        assertThat(watch.await(line -> line.contains(": held by ")))
                .contains("token " + acquired.get("token").getAsString());
        assertThat(shell.here("release", acquired.get("lease").getAsString()).code())
                .isZero();
        assertThat(watch.await(line -> line.endsWith(": free"))).isNotEmpty();
        assertThat(watch.awaitExit()).isZero();
    }

    @Test
    void stoppedServerIsGivenUpAtTheTimeout() throws Exception {
        shell.server().child().pause();
        try {
            Shell.Ran ran = shell.here("status", "--timeout", "500ms");
            assertThat(ran.code()).isEqualTo(3);
            assertThat(ran.err())
                    .containsExactly("palisade status: no reply from the lock server at " + shell.serverAddress()
                            + " (timed out); check --server, or start one: palisade server");
        } finally {
            shell.server().child().resume();
        }
    }
}
