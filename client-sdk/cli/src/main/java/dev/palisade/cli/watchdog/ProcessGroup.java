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
 * A POSIX process group with the descendants of its leader: the processes of the command. A process that has left the
 * group and was reparented is out of reach.
 */
public final class ProcessGroup {
    private static final Path PROC = Path.of("/proc");
    private static final int GROUP = 2;
    private static final int SESSION = 3;
    private static final boolean HAS_PROC = Files.exists(PROC.resolve("self/stat"));

    private final long leader;

    /** @param leader the process id of the first process, which is also the id of the group */
    public ProcessGroup(long leader) {
        this.leader = leader;
    }

    /** Whether {@code process} leads this group, or led it. */
    public boolean isLedBy(long process) {
        return leader == process;
    }

    /** Whether {@link #withEnvironment} works on this system. */
    public static boolean canSearch() {
        return HAS_PROC;
    }

    /**
     * Finds the group of the processes that have {@code entry}, as {@code NAME=value}, in their environment. Needed
     * when the process id was never reported.
     */
    public static Optional<ProcessGroup> withEnvironment(String entry) {
        ProcessGroup found = null;
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROC, "[0-9]*")) {
            for (Path process : processes) {
                if (hasEntry(process, entry)) {
                    Optional<ProcessGroup> group = of(process);
                    boolean leads = group.isPresent()
                            && process.getFileName().toString().equals(Long.toString(group.get().leader));
                    if (group.isPresent() && (found == null || leads)) {
                        found = group.get();
                    }
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            return Optional.ofNullable(found);
        }
        return Optional.ofNullable(found);
    }

    /** The group of a process; empty if the process has ended. */
    private static Optional<ProcessGroup> of(Path process) {
        long[] group = new long[1];
        boolean runs = runs(process, fields -> {
            group[0] = Long.parseLong(fields[GROUP]);
            return true;
        });
        return runs ? Optional.of(new ProcessGroup(group[0])) : Optional.empty();
    }

    /** Whether a process of the session runs, as in {@link #alive}; only where {@link #canSearch} is true. */
    public static boolean inSession(long session) {
        return any(fields -> Long.parseLong(fields[SESSION]) == session);
    }

    private static boolean hasEntry(Path process, String entry) {
        try {
            String environment = Files.readString(process.resolve("environ"), StandardCharsets.ISO_8859_1);
            return ("\0" + environment).contains("\0" + entry + "\0");
        } catch (IOException e) {
            return false; // The process has ended, or belongs to another user.
        }
    }

    /** Whether a process of the group runs; zombies do not count. */
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
            return true; // Unknown now: the caller checks again.
        }
    }

    /** Sends the signal to every process of the group, and SIGCONT, so that stopped processes handle it. */
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

    /** Sends SIGKILL. Known processes are killed without a new process, which might be impossible to start. */
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
            // "pid (name) state parent group session ...", and the name may contain any character.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 5);
            boolean ended = fields[0].equals("Z") || fields[0].equals("X");
            return !ended && wanted.test(fields);
        } catch (IOException e) {
            return false; // The process ended during the scan.
        }
    }

    /** Uses the kill built into the shell: slim images have no kill program, and Java cannot signal groups. */
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
