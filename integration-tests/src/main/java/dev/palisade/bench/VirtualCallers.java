package dev.palisade.bench;

import dev.palisade.bench.Rounds.Measured;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.NewerJdk;
import dev.palisade.scenario.ScenarioFailed;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadFactory;

/**
 * A process of a JDK that has virtual threads, whose callers are such: it is told a round on a line, and answers with a line. Written in
 * Java 17, so that it finds what is of virtual threads by its name.
 */
final class VirtualCallers implements AutoCloseable {
    private static final String MEASURED = "measured ";
    private static final String FAILED = "failed ";

    private final Child process;

    private VirtualCallers(Child process) {
        this.process = process;
    }

    /** Starts it; fails where there is no such JDK. */
    static VirtualCallers start() {
        Path jdk = NewerJdk.with("java").orElseThrow(() -> new ScenarioFailed(NewerJdk.MISSING));
        return new VirtualCallers(Child.start(
                "virtual callers",
                List.of(
                        jdk.resolve("bin/java").toString(),
                        "-Dfile.encoding=UTF-8",
                        "-Dlogback.configurationFile=logback-demo.xml",
                        "-cp",
                        System.getProperty("java.class.path"),
                        VirtualCallers.class.getName()),
                Map.of()));
    }

    /** {@code count} virtual threads that each take a lock of their own of {@code service} and give it back. */
    Measured run(Service service, int count, Duration time) {
        Usage usage = Usage.begin(service.clocks(process.pid()));
        process.send(service.library() + " " + service.address() + " " + count + " " + time.toMillis());
        String answer = process.await(
                line -> line.startsWith(MEASURED) || line.startsWith(FAILED),
                time.plus(Threads.PATIENCE.multipliedBy(2)));
        if (answer.startsWith(FAILED)) {
            throw new ScenarioFailed(answer.substring(FAILED.length()));
        }
        return usage.end(Long.parseLong(answer.substring(MEASURED.length())), Map.of());
    }

    @Override
    public void close() {
        process.kill();
    }

    public static void main(String[] args) throws Exception {
        // Of an interface: the class behind it is nobody's to call.
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        ThreadFactory virtual = (ThreadFactory)
                Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        Map<String, Locks> clients = new HashMap<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 4);
            try {
                Locks locks = clients.computeIfAbsent(
                        words[0] + " " + words[1],
                        service -> Library.valueOf(words[0].toUpperCase(Locale.ROOT))
                                .connect(words[1]));
                Measured measured = new Callers(new Threads(Integer.parseInt(words[2]), virtual), false)
                        .run(locks, Map.of(), Duration.ofMillis(Long.parseLong(words[3])));
                System.out.println(MEASURED + measured.operations());
            } catch (RuntimeException e) {
                System.out.println(FAILED
                        + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
            }
        }
    }
}
