package dev.palisade.cli.watchdog;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * The processes of the command: all that are in the process group its first process leads, and whatever descends from it. What
 * has left the group and lost its parents is out of reach.
 */
public final class Group {
    private static final Path PROC = Path.of("/proc");
    private static final int GROUP = 2;
    private static final int SESSION = 3;
    private static final boolean HAS_PROC = Files.exists(PROC.resolve("self/stat"));

    private final long leader;

    /** @param leader the process id of the first process, which is also the number of the group */
    public Group(long leader) {
        this.leader = leader;
    }

    /** Whether it is the group that this process leads, or led. */
    public boolean isLedBy(long process) {
        return leader == process;
    }

    /** Whether {@link #carrying} can be asked on this system. */
    public static boolean canSearch() {
        return HAS_PROC;
    }

    /**
     * The group of the processes that were started with {@code entry}, {@code NAME=value}, in their environment. For a process that
     * was not told what was started. Empty if there are none.
     */
    public static Optional<Group> carrying(String entry) {
        Group found = null;
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                if (hasEntry(process, entry)) {
                    Optional<Group> of = of(process);
                    boolean leads =
                            of.isPresent() && process.getFileName().toString().equals(Long.toString(of.get().leader));
                    if (of.isPresent() && (found == null || leads)) {
                        found = of.get();
                    }
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.ofNullable(found);
        }
        return Optional.ofNullable(found);
    }

    /** The group that a process is in, unless it has ended. */
    private static Optional<Group> of(Path process) {
        long[] group = new long[1];
        boolean runs = runs(process, fields -> {
            group[0] = Long.parseLong(fields[GROUP]);
            return true;
        });
        return runs ? Optional.of(new Group(group[0])) : Optional.empty();
    }

    /** Whether any process of the session is left, see {@link #alive}; to be asked only if {@link #canSearch}. */
    public static boolean inSession(long session) {
        return any(fields -> Long.parseLong(fields[SESSION]) == session);
    }

    private static boolean hasEntry(Path process, String entry) {
        try {
            String environment = Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1);
            return ("\0" + environment).contains("\0" + entry + "\0");
        } catch (IOException e) {
            return false; // It has ended, or belongs to another user.
        }
    }

    /** Whether any process of the group is left; those that have ended and are only not yet waited for do not count. */
    public boolean alive() {
        return HAS_PROC ? any(fields -> Long.parseLong(fields[GROUP]) == leader) : shell("kill -0 -" + leader);
    }

    private static boolean any(Predicate<String[]> wanted) {
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                if (runs(process, wanted)) {
                    return true;
                }
            }
            return false;
        } catch (IOException | DirectoryIteratorException e) {
            return true; // Not known now: the caller checks again.
        }
    }

    /** Sends the signal to every process of the group, and has stopped ones continue, so that they hear it. */
    public void signal(String name) {
        if (shell("kill -" + name + " -" + leader + " && kill -CONT -" + leader)) {
            return;
        }
        if (name.equals("TERM") || name.equals("INT") || name.equals("HUP")) {
            // No shell could be started, or the process has no group yet.
            for (ProcessHandle process : known()) {
                process.destroy();
            }
        }
    }

    /** SIGKILL. The processes known by number are killed without starting another, which may no longer be possible. */
    public void kill() {
        for (ProcessHandle process : known()) {
            process.destroyForcibly();
        }
        shell("kill -KILL -" + leader);
    }

    private List<ProcessHandle> known() {
        Optional<ProcessHandle> first = ProcessHandle.of(leader);
        if (first.isEmpty()) {
            return List.of();
        }
        List<ProcessHandle> all = new ArrayList<>(first.get().descendants().toList());
        all.add(0, first.get());
        return all;
    }

    private static boolean runs(Path process, Predicate<String[]> wanted) {
        try {
            String stat = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
            // "pid (name) state parent group session ...", and the name may hold anything.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 5);
            boolean ended = fields[0].equals("Z") || fields[0].equals("X");
            return !ended && wanted.test(fields);
        } catch (IOException e) {
            return false; // It ended while we looked.
        }
    }

    /** The shell's own kill: slim images have no other, and Java has none for groups. */
    private static boolean shell(String script) {
        try {
            return new ProcessBuilder("/bin/sh", "-c", script)
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
