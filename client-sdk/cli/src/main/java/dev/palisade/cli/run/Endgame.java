package dev.palisade.cli.run;

import dev.palisade.cli.watchdog.Ending;
import dev.palisade.cli.watchdog.Group;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Ends the command without its watchdog: asks while there is time, then kills. */
final class Endgame {
    private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(5);

    /**
     * What a search came to.
     *
     * @param certain whether nothing was overlooked
     */
    record Search(Optional<Group> found, boolean certain) {}

    private Endgame() {}

    /**
     * Looks for the command of a watchdog that died before it could tell what it had started. What is between being made and
     * becoming the command is still in the watchdog's session and is waited for, however slow the machine is.
     *
     * @param session that the watchdog led; empty if it had none of its own, and then finding nothing proves nothing
     * @param entry of the command's environment that no other process has
     * @param patience after so long it is not known
     */
    static Search find(OptionalLong session, String entry, Duration patience) {
        long until = System.nanoTime() + patience.toNanos();
        boolean nothingBefore = false;
        while (Group.canSearch() && System.nanoTime() - until < 0) {
            // In this order: whatever leaves the session has the entry by then.
            boolean onItsWay = session.isPresent() && Group.inSession(session.getAsLong());
            Optional<Group> found = Group.carrying(entry);
            // A process that was made with a smaller id during the first look was not seen in the session.
            boolean stillThere = session.isPresent()
                    && found.filter(group -> group.isLedBy(session.getAsLong())).isPresent();
            boolean ended = !onItsWay && !stillThere && (found.isPresent() || session.isPresent());
            // Nothing has to be found twice: a process shows no environment while it becomes another program.
            if (ended && (found.isPresent() || nothingBefore)) {
                return new Search(found, true);
            }
            nothingBefore = ended;
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return new Search(Optional.empty(), false);
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
