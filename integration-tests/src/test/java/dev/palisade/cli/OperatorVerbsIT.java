package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Mode;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What operators ask, by the packaged jar. */
@Execution(ExecutionMode.CONCURRENT)
class OperatorVerbsIT {
    private static final String LOCK = "job/1";

    private final Shell shell = new Shell();

    @AfterEach
    void close() {
        shell.close();
    }

    private JsonObject json(String... arguments) throws Exception {
        Shell.Ran ran = shell.run(arguments);
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
            JsonObject store = json("store", "--json");
            assertThat(store.get("up").getAsBoolean()).isTrue();
            assertThat(store.get("epochs").getAsJsonArray())
                    .as("of this lock too")
                    .containsExactly(json("describe", LOCK, "--json").get("epoch"));
            assertThat(shell.run("store").out().get(0))
                    .startsWith("embedded at ")
                    .contains(": up since ");
            assertThat(json("check", lease.sequencer().toText(), "--json")
                            .get("alive")
                            .getAsBoolean())
                    .isTrue();
            assertThat(json("revoke", LOCK, "--why", "please", "--json")
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
            assertThat(shell.run("revoke", LOCK, "--why", "please").code()).isEqualTo(1);
            assertThat(shell.run("history", LOCK).out())
                    .last()
                    .asString()
                    .contains("FORCE_RELEASED")
                    .endsWith(": stuck");
        }
    }

    @Test
    void ofSeveralHoldersOneHasToBeNamed() throws Exception {
        AcquireOptions shared = AcquireOptions.defaults().mode(Mode.SHARED);
        try (PalisadeClient one = shell.client("one");
                PalisadeClient two = shell.client("two")) {
            one.tryAcquire(LOCK, shared);
            two.tryAcquire(LOCK, shared);
            Shell.Ran ran = shell.run("force-release", LOCK, "--why", "stuck");
            assertThat(ran.code()).isEqualTo(2);
            assertThat(ran.err()).singleElement().asString().contains(LOCK + " has 2 holders; name one with --token N");
            assertThat(shell.run("force-release", LOCK, "--why", "stuck", "--all")
                            .out())
                    .isEqualTo(List.of("ended 2 leases of " + LOCK));
        }
    }

    @Test
    void noServerAndAForeignProofAreToldInOneLine() throws Exception {
        Shell.Ran none = shell.run("describe", LOCK, "--server", "127.0.0.1:1");
        assertThat(none.code()).isEqualTo(3);
        assertThat(none.err())
                .singleElement()
                .asString()
                .startsWith("palisade describe: no answer from the lock server");
        Shell.Ran foreign = shell.run("check", "AAAA");
        assertThat(foreign.code()).isEqualTo(3);
        assertThat(foreign.err()).singleElement().asString().startsWith("palisade check: SEQUENCER_INVALID");
    }
}
