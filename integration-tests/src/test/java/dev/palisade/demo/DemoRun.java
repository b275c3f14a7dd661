package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The demo's jar in a process of its own, as the launcher starts it: how it ended and what it said. */
record DemoRun(int code, String out, String err) {
    static DemoRun of(String... options) throws IOException, InterruptedException {
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
            return new DemoRun(process.exitValue(), said, complained);
        } finally {
            process.destroyForcibly();
        }
    }
}
