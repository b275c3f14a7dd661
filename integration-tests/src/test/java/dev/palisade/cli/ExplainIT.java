package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.nio.file.Path;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A late call that a guard refuses, and what the packaged command says of it. */
@Execution(ExecutionMode.CONCURRENT)
class ExplainIT {
    private static final String LOCK = "orders/42";

    private static Shell shell;
    private static ManagedChannel toLocks;

    @BeforeAll
    static void start() {
        shell = new Shell();
        toLocks = ManagedChannelBuilder.forTarget(shell.serverAddress())
                .usePlaintext()
                .build();
    }

    @AfterAll
    static void close() {
        toLocks.shutdownNow();
        shell.close();
    }

    private static Guard guard() throws Exception {
        Path marks = shell.installation().home().resolve("marks");
        MarkStore.createNeverUsed(marks);
        return Guard.builder(
                        KeysetFile.open(shell.installation().home().resolve("keys/sequencers.json"))
                                .verifier("palisade"),
                        MarkStore.file(marks))
                .lockService(GrpcLockService.at(toLocks, "palisade"))
                .protecting("shop")
                .build();
    }

    @Test
    void aRefusedCallIsExplainedFromItsGrantToWhatToDo() throws Exception {
        try (Guard guard = guard();
                PalisadeClient a = shell.client("worker-a");
                PalisadeClient b = shell.client("worker-b")) {
            SignedSequencer late;
            long token;
            try (Lease lease = a.acquire(LOCK)) {
                late = lease.sequencer();
                token = lease.token().value();
                assertThat(shell.here("force-release", LOCK, "--by", "ops", "--why", "stuck")
                                .code())
                        .isZero();
            }
            try (Lease lease = b.acquire(LOCK)) {
                guard.enter(lease.sequencer(), Access.WRITE, Binding.of(LOCK)).close();
                assertThatThrownBy(() -> guard.enter(late, Access.WRITE, Binding.of(LOCK)))
                        .isInstanceOf(RejectedException.class);
                JsonObject story = Awaitility.await()
                        .atMost(Shell.PATIENCE)
                        .until(
                                ExplainIT::story,
                                found -> found.get("events").toString().contains("REFUSED"));
                assertThat(story.get("token").getAsLong()).isEqualTo(token);
                assertThat(story.get("state").getAsString()).isEqualTo("FORCE_RELEASED");
                Shell.Ran shown = shell.run("explain", LOCK, "--sequencer", late.toText());
                assertThat(shown.code()).isZero();
                assertThat(events(shown.out()))
                        .containsExactly("GRANTED", "FORCE_RELEASED", "GRANTED", "MARK_RAISED", "REFUSED");
                assertThat(String.join(" ", shown.out()).replaceAll(" +", " "))
                        .startsWith("The sequencer is genuine: this lock service signed it, for token " + token + ".")
                        .contains("now 'worker-b' holds the lock with token " + lease.token())
                        .contains("by ops: stuck")
                        .contains("The guard 'shop at ")
                        .contains("refused a call with token " + token + " on '" + LOCK
                                + "' as TOKEN_STALE: it had seen token " + lease.token())
                        .contains("What to do:");
            }
        }
    }

    private static JsonObject story() {
        return JsonParser.parseString(
                        shell.here("explain", LOCK, "--json").out().get(0))
                .getAsJsonObject();
    }

    private static List<String> events(List<String> out) {
        return out.stream()
                .filter(line -> line.matches("\\d{4}-.*Z, .* ago: .*"))
                .map(line -> line.replaceFirst(".* ago: ", ""))
                .toList();
    }

    @Test
    void whatCannotBeExplainedIsOneLine() {
        Shell.Ran both = shell.here("explain", LOCK, "--token", "1", "--sequencer", "AAAA");
        assertThat(both.code()).isEqualTo(2);
        assertThat(both.err()).first().asString().contains("use one of them");
        Shell.Ran forged = shell.here("explain", LOCK, "--sequencer", "AAAA");
        assertThat(forged.code()).isEqualTo(5);
        assertThat(forged.err()).singleElement().asString().contains("SEQUENCER_INVALID");
        Shell.Ran unused = shell.here("explain", "unused");
        assertThat(unused.code()).isZero();
        assertThat(unused.out()).first().isEqualTo("No grant of lock 'unused' is known.");
    }
}
