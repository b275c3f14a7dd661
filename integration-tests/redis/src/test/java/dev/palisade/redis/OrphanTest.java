package dev.palisade.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left of a Redis when the JVM that started it has no time to end it. */
class OrphanTest {

    /** A JVM with a Redis. */
    static final class Starter {
        private Starter() {}

        public static void main(String[] args) throws InterruptedException {
            System.out.println(RedisProcess.start().pid());
            Thread.sleep(60_000);
        }
    }

    @Test
    void aRedisDoesNotOutliveAJvmThatIsKilled(@TempDir Path temporary) throws Exception {
        Process jvm = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djava.io.tmpdir=" + temporary,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Starter.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader out = jvm.inputReader()) {
            ProcessHandle redis =
                    ProcessHandle.of(Long.parseLong(out.readLine().trim())).orElseThrow();
            assertThat(redis.isAlive()).isTrue();

            jvm.destroyForcibly();

            assertThat(redis.onExit().get(60, TimeUnit.SECONDS).isAlive()).isFalse();
        } finally {
            jvm.destroyForcibly();
        }
    }
}
