package dev.palisade.cli.run;

import dev.palisade.cli.watchdog.Ending;
import dev.palisade.cli.watchdog.Group;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Ends the command without its watchdog: asks while there is time, then kills. */
final class Endgame {
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** For a process that is between being made and becoming the command. */
    private static final long SEARCH_NANOS = TimeUnit.MILLISECONDS.toNanos(300);

    private Endgame() {}

    /**
     * The command of a watchdog that died before it could tell what it had started; null: there is none, or it cannot be looked for.
     *
     * @param entry of its environment that nobody else has
     */
    static @Nullable Group find(String entry) {
        long until = System.nanoTime() + SEARCH_NANOS;
        while (Group.canSearch() && System.nanoTime() - until < 0) {
            Optional<Group> found = Group.carrying(entry);
            if (found.isPresent()) {
                return found.get();
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return null;
    }

    /**
     * Blocks until nothing of the command is left, or it cannot be killed.
     *
     * @param mayAsk whether the command may still be given time to end by itself
     * @return whether nothing is left
     */
    static boolean play(Group command, Ending ending, BooleanSupplier mayAsk) {
        if (!ending.killAtOnce() && mayAsk.getAsBoolean()) {
            command.signal("TERM");
            long until = System.nanoTime() + ending.killAfter().toNanos();
            while (command.alive() && mayAsk.getAsBoolean() && System.nanoTime() - until < 0) {
                LockSupport.parkNanos(LOOK_NANOS);
            }
        }
        long until = System.nanoTime() + STUCK_NANOS;
        while (command.alive() && System.nanoTime() - until < 0) {
            command.kill();
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return !command.alive();
    }
}
