package dev.palisade.redis;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Command line of a child process that starts with default signal dispositions. A child inherits ignored signals, and neither a JVM nor
 * a shell may undo that: under {@code nohup}, or in the background of a script, a child would ignore the signals of a test. Stateless.
 */
public final class DefaultSignals {
    private static final Function<String[], List<String>> PREFIX = find();

    private DefaultSignals() {}

    /**
     * Returns {@code command} behind a program that resets {@code signals} and then becomes the command, with the same process id;
     * {@code command} itself where neither {@code env --default-signal} (coreutils 8.31) nor {@code perl} (macOS) is on the PATH.
     *
     * @param signals names such as {@code TERM}
     */
    public static List<String> of(List<String> command, String... signals) {
        List<String> all = new ArrayList<>(PREFIX.apply(signals));
        all.addAll(command);
        return all;
    }

    private static Function<String[], List<String>> find() {
        Function<String[], List<String>> env =
                signals -> List.of(path("env"), "--default-signal=" + String.join(",", signals));
        Function<String[], List<String>> perl = signals -> List.of(
                path("perl"),
                "-e",
                "$SIG{$_} = 'DEFAULT' for qw(" + String.join(" ", signals) + "); exec @ARGV or exit 127");
        return works(env) ? env : works(perl) ? perl : signals -> List.of();
    }

    /** With its folder, for a child that gets another PATH. */
    private static String path(String name) {
        return RedisBinary.onThePath(name).map(Path::toString).orElse(name);
    }

    private static boolean works(Function<String[], List<String>> prefix) {
        List<String> command = new ArrayList<>(prefix.apply(new String[] {"TERM"}));
        command.add("true");
        try {
            return new ProcessBuilder(command)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
