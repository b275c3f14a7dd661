package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.cli.Commands;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A kept history with a planted violation, explained offline. */
class ExplanationTest {
    private static final String STALE = "'lock':'l','token':1001,'grant':'0000000000000000000000000003e900'";
    private static final String NEWER = "'lock':'l','token':1002,'grant':'0000000000000000000000000003ea00'";

    /** c1 is stopped before its write, c2 reads and writes, and c1's late write is applied: a guard that sleeps. */
    private static HistoryBuilder lostUpdate() {
        return new HistoryBuilder()
                .at(0, "run", "run", "'seed':7")
                .granted(10, "c1", 1001, 1_000)
                .at(12, "c1", "read", "'sent':11,'content':''," + STALE)
                .at(13, "c9", "cancelled", "'asked':3,'lock':'m','op':'c9-unrelated'")
                .at(20, "run", "fault-began", "'fault':'PAUSE_CLIENTS','number':1,'who':'c1','how':''")
                .granted(1_100, "c2", 1002, 2_000)
                .at(1_102, "c2", "sending", "'op':'c2-op-1','content':'1 c2-op-1'," + NEWER)
                .at(1_104, "c2", "acknowledged", "'op':'c2-op-1'," + NEWER)
                .at(1_200, "run", "fault-ended", "'fault':'PAUSE_CLIENTS','number':1,'who':'c1','how':''")
                .at(1_201, "c1", "sending", "'op':'c1-op-1','content':'1 c1-op-1'," + STALE)
                .at(1_203, "c1", "acknowledged", "'op':'c1-op-1'," + STALE)
                .at(2_900, "run", "quiet", "'bound_millis':100")
                .at(3_000, "run", "listed", "'after':1,'locks':[]")
                .at(3_001, "run", "applied", row(1, "1 c2-op-1") + NEWER)
                .at(3_002, "run", "applied", row(2, "1 c1-op-1") + STALE)
                .at(3_003, "run", "mark", "'when':'end','shared_token':0," + NEWER)
                .at(3_004, "run", "counter", "'key':'l','value':1,'sha256':'" + Histories.sha256("1 c1-op-1") + "'");
    }

    private static String row(int seq, String content) {
        return "'seq':" + seq + ",'key':'l','write':true,'shared':false,'sha256':'" + Histories.sha256(content) + "',";
    }

    private static String explain(Path file, int code) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            assertThat(Commands.run(new ExplainCommand(), file.toString())).isEqualTo(code);
        } finally {
            System.setOut(before);
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    private static Path kept(Path directory, HistoryBuilder history) throws Exception {
        List<String> lines = history.events().stream().map(Object::toString).toList();
        return Files.write(directory.resolve("history.jsonl"), lines);
    }

    @Test
    void aPlantedLostUpdateIsFoundAndToldAsOneTimeline(@TempDir Path directory) throws Exception {
        kept(directory, lostUpdate());

        String explanation = explain(directory, 1);

        assertThat(explanation)
                .contains("P6: row 2", "P15: l counted 1, with 2 acknowledged")
                .contains(
                        "rule P6: per resource the tokens of applied writes never fall; docs/reference/fault-runs.md");
        assertThat(explanation.substring(explanation.indexOf("P6:"), explanation.indexOf("P15:")))
                .containsSubsequence(
                        "10.000 ms  c1       granted",
                        "20.000 ms  run      fault-began",
                        "1100.000 ms  c2       granted",
                        "1104.000 ms  c2       acknowledged",
                        "1203.000 ms  c1       acknowledged",
                        "at the end  run      applied")
                .contains("token=1001", "grant=00000000", "fault=PAUSE_CLIENTS")
                .doesNotContain("c9-unrelated");
    }

    @Test
    void theSameHistoryWithTheLateWriteRefusedIsWell(@TempDir Path directory) throws Exception {
        HistoryBuilder well = new HistoryBuilder();
        for (var event : lostUpdate().events()) {
            boolean late =
                    event.has("sha256") && event.get("sha256").getAsString().equals(Histories.sha256("1 c1-op-1"));
            if (late && event.get("event").getAsString().equals("applied")) {
                continue;
            }
            if (late) {
                event.addProperty("sha256", Histories.sha256("1 c2-op-1"));
            }
            if (event.has("op")
                    && event.get("op").getAsString().equals("c1-op-1")
                    && event.get("event").getAsString().equals("acknowledged")) {
                event.addProperty("event", "refused");
                event.addProperty("reason", "TOKEN_STALE");
            }
            well.add(event);
        }
        kept(directory, well);

        assertThat(explain(directory, 0)).startsWith("0 violations in ");
    }

    @Test
    void whatAProcessHasSaidCannotSteerTheTerminal() {
        HistoryBuilder history = new HistoryBuilder().at(0, "c1", "refused", "'token':5,'reason':'\\u001b[2J\\u202e'");

        assertThat(new Explanation(history.events()).of("P6: token 5"))
                .contains("reason=?[2J?")
                .doesNotContain("\u001b");
    }

    @Test
    void aHistoryThatIsNotThereIsToldInOneLine(@TempDir Path directory) {
        assertThat(Commands.run(new ExplainCommand(), directory.toString())).isEqualTo(3);
    }
}
