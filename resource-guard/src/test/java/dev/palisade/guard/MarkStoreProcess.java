package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.RejectedException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A process that has a file store and keeps changes in it, each known by its number, until it is killed or fails. */
final class MarkStoreProcess implements AutoCloseable {
    /** Changes that are not acknowledged yet, at most. */
    static final int WINDOW = 8;

    private final Process process;
    private final BufferedReader out;

    private MarkStoreProcess(Process process) {
        this.process = process;
        this.out = process.inputReader(StandardCharsets.UTF_8);
    }

    /**
     * @param resources how many different ones are put
     * @param fileBlocksMax what {@code ulimit -f} is told: no file may get longer
     */
    static MarkStoreProcess launch(Path directory, int resources, String fileBlocksMax) throws IOException {
        List<String> command =
                new ArrayList<>(List.of("/bin/sh", "-c", "ulimit -f " + fileBlocksMax + " && exec \"$@\"", "sh"));
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                MarkStoreProcess.class.getName(),
                directory.toString(),
                Integer.toString(resources)));
        return new MarkStoreProcess(
                new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    /** The change with this number: puts of long names, a base mark now and then. */
    static Change change(int number, int resources) {
        return number % 50 == 0
                ? new Change.Base(
                        MarkStoreContract.base(number % 256, number),
                        List.of(name(number - 7, resources), name(number - 9, resources)))
                : new Change.Put(MarkStoreContract.mark(name(number, resources), number));
    }

    private static String name(int number, int resources) {
        return number % resources + "-".repeat(200);
    }

    String readLine() throws IOException {
        return String.valueOf(out.readLine());
    }

    /** The number of the last change whose acknowledgement was heard before it died. */
    int killAndReadTheRest(int last) throws IOException, InterruptedException {
        // Not Process.destroyForcibly: it would close what is still to be read.
        process.toHandle().destroyForcibly();
        int acknowledged = last;
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            acknowledged = Integer.parseInt(line);
        }
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return acknowledged;
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws InterruptedException {
        int resources = Integer.parseInt(arguments[1]);
        try (MarkStore store = MarkStore.file(Path.of(arguments[0]))) {
            store.open();
            System.out.println("open");
            Semaphore window = new Semaphore(WINDOW);
            for (int i = 1; ; i++) {
                window.acquire();
                int number = i;
                Change change = change(number, resources);
                (change instanceof Change.Base raised
                                ? store.putBase(raised.base(), raised.dropped())
                                : store.put(((Change.Put) change).mark()))
                        .whenComplete((nothing, failure) -> {
                            System.out.println(failure == null ? number : "failed " + failure.getMessage());
                            if (failure != null) {
                                Runtime.getRuntime().halt(1);
                            }
                            window.release();
                        });
            }
        } catch (RejectedException e) {
            System.out.println("refused " + e.getMessage());
        }
    }
}
