package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class OutOfMemoryExitTest {
    /** A process with a thread that runs out of memory and one that would go on for ever. */
    static final class Victim {
        private Victim() {}

        public static void main(String[] args) {
            OutOfMemoryExit.install("palisade victim");
            new Thread(Victim::takeAll).start();
            while (true) {
                java.util.concurrent.locks.LockSupport.park();
            }
        }

        private static void takeAll() {
            Object chain = "";
            while (true) {
                chain = new Object[] {chain, new byte[1 << 20]};
            }
        }
    }

    @Test
    void anyThreadOutOfMemoryEndsTheProcessWithOneLine() throws Exception {
        Process victim = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx32m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Victim.class.getName())
                .start();
        try {
            assertThat(victim.waitFor(60, TimeUnit.SECONDS)).as("ends").isTrue();
            assertThat(victim.exitValue()).isEqualTo(OutOfMemoryExit.CODE);
            assertThat(new String(victim.getErrorStream().readAllBytes(), StandardCharsets.UTF_8))
                    .isEqualTo(
                            "palisade victim: out of memory, stopping (OutOfMemoryError); nothing that was answered is lost:"
                                    + " give it more heap with -Xmx, then start again\n");
        } finally {
            victim.destroyForcibly();
        }
    }
}
