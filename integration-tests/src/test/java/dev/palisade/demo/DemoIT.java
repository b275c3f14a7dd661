package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The demo's jar in a process of its own, as the launcher starts it. */
class DemoIT {
    private static final Pattern GRANTED = Pattern.compile("is granted stock/42, fencing token (\\d+)");

    private record Ended(int code, String out, String err) {}

    private static Ended demo(String... options) throws IOException, InterruptedException {
        String root = System.getProperty(Installation.ROOT_PROPERTY);
        List<String> command = Child.java(
                "-D" + Installation.ROOT_PROPERTY + "=" + root,
                "-jar",
                root + "/integration-tests/target/palisade-demo.jar");
        command.addAll(List.of(options));
        Process process = new ProcessBuilder(command).start();
        try (var out = process.getInputStream();
                var err = process.getErrorStream()) {
            process.getOutputStream().close();
            String said = new String(out.readAllBytes(), StandardCharsets.UTF_8);
            String complained = new String(err.readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
            return new Ended(process.exitValue(), said, complained);
        } finally {
            process.destroyForcibly();
        }
    }

    private static List<String> tokens(String out) {
        List<String> tokens = new ArrayList<>();
        Matcher granted = GRANTED.matcher(out);
        while (granted.find()) {
            tokens.add(granted.group(1));
        }
        return tokens;
    }

    @Test
    void theGuardRefusesTheLateWriteByNameOfBothTokens() throws Exception {
        Ended demo = demo();

        assertThat(demo.code()).as(demo.toString()).isZero();
        List<String> tokens = tokens(demo.out());
        assertThat(tokens).hasSize(2);
        assertThat(Long.parseLong(tokens.get(0))).isLessThan(Long.parseLong(tokens.get(1)));
        assertThat(demo.out())
                .contains("TOKEN_STALE, token " + tokens.get(0) + " presented, " + tokens.get(1) + " is the mark")
                .contains("in stock: 39");
    }

    @Test
    void withoutTheGuardTheLateWriteOverwritesTheObject() throws Exception {
        Ended demo = demo("--unguarded");

        assertThat(demo.code()).as(demo.toString()).isZero();
        assertThat(demo.out())
                .contains("GUARD OFF", "answers A: written, version", "in stock: 38", "B's sale is lost")
                .doesNotContain("TOKEN_STALE");
    }

    @Test
    void aGuardThatAdmitsEverythingIsToldFromOneThatRefuses() throws Exception {
        Ended demo = demo("--unguarded", "--expect-refusal");

        assertThat(demo.code()).as(demo.toString()).isEqualTo(1);
        assertThat(demo.out()).contains("FAILED: the late write was not refused");
    }

    @Test
    void wrongUsageIsToldInOneLine() throws Exception {
        Ended demo = demo("--nonsense");

        assertThat(demo.code()).isEqualTo(2);
        assertThat(demo.out()).isEmpty();
        assertThat(demo.err().lines()).singleElement().asString().contains("--nonsense", "--help");
    }
}
