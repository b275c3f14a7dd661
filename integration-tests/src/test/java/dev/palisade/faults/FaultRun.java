package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.check.Marks;
import dev.palisade.check.Run;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Clients that count under locks while a seed chooses what happens to them and to the services. A pause begins when the
 * holder has read and ends when another client was seen to have written: placed, never timed.
 */
final class FaultRun {
    /** What can happen. */
    enum Fault {
        /** A holder is stopped between its read and its write until another client has written. */
        PAUSE_HOLDER,
        /** The same, but until another client has read and is about to write: nothing but a read stands against the holder. */
        PAUSE_HOLDER_UNTIL_READ,
        /** Until another client has written, and the storage is killed and restarted before the holder goes on: its mark must have stayed. */
        PAUSE_HOLDER_RESTART_OBJECTS,
        /** Until another client has written, and the lock server is killed and restarted before another client is granted. */
        PAUSE_HOLDER_RESTART_SERVER,
        KILL_HOLDER,
        KILL_ANY_CLIENT,
        RESTART_SERVER,
        RESTART_OBJECTS,
        /** Behind a proxy: the storage is stopped until the outcome of a call is unknown. */
        FREEZE_BACKEND,
        /**
         * Behind a proxy: the storage is slow until the outcome of a call is unknown and its end becomes known
         * later.
         */
        SLOW_BACKEND,
        /** Behind a proxy: its connections to the storage break under a call. */
        CUT_BACKEND,
        /** Of several guards, one is stopped for longer than its place in the register is kept. */
        FREEZE_GUARD
    }

    private final Random random;
    private final Fleet fleet;
    private final Gatekeeper gatekeeper;
    private final Front front;
    private final Path dataDir;
    private final Path historiesDir;
    private final List<Marks> marks = new ArrayList<>();
    private final Map<Fault, Integer> done = new EnumMap<>(Fault.class);
    private int staleAfterPause;

    FaultRun(Installation installation, long seed, Front front, int clientsTotal) {
        this.random = new Random(seed);
        this.front = front;
        this.dataDir = installation.home().resolve("objects");
        this.historiesDir = installation.histories();
        this.fleet = new Fleet(installation, front, clientsTotal, random);
        this.gatekeeper = fleet.gatekeeper;
    }

    /** Runs {@code deck} in an order of the seed's choice, again and again until {@code atLeast} has passed. */
    void run(List<Fault> deck, Duration atLeast) {
        long end = System.nanoTime() + atLeast.toNanos();
        fleet.awaitProgress();
        do {
            List<Fault> round = new ArrayList<>(deck);
            Collections.shuffle(round, random);
            for (Fault fault : round) {
                happen(fault);
                done.merge(fault, 1, Integer::sum);
                fleet.awaitProgress();
            }
        } while (System.nanoTime() < end);
    }

    private void happen(Fault fault) {
        switch (fault) {
            case PAUSE_HOLDER -> pause(() -> {}, () -> {});
            case PAUSE_HOLDER_RESTART_OBJECTS -> pause(() -> {}, this::restartObjects);
            case PAUSE_HOLDER_RESTART_SERVER -> pause(fleet::restartServer, () -> {});
            case PAUSE_HOLDER_UNTIL_READ -> pauseUntilRead();
            case KILL_HOLDER -> {
                JsonObject about = gatekeeper.awaitHeld(any -> true);
                fleet.replace(gatekeeper.client(about));
                gatekeeper.awaitSuccessor(about);
            }
            case KILL_ANY_CLIENT -> fleet.replace(fleet.anyClient());
            case RESTART_SERVER -> fleet.restartServer();
            case RESTART_OBJECTS -> restartObjects();
            case FREEZE_BACKEND, SLOW_BACKEND, CUT_BACKEND, FREEZE_GUARD -> front.suffer(fault, gatekeeper);
        }
    }

    private void pause(Runnable beforeSuccessor, Runnable afterSuccessor) {
        JsonObject about = gatekeeper.awaitHeld(any -> true);
        Child holder = gatekeeper.client(about);
        holder.pause();
        gatekeeper.go(about);
        beforeSuccessor.run();
        gatekeeper.awaitSuccessor(about);
        afterSuccessor.run();
        resume(holder, about);
    }

    private void pauseUntilRead() {
        JsonObject about = gatekeeper.awaitHeld(any -> true);
        Child holder = gatekeeper.client(about);
        holder.pause();
        gatekeeper.go(about);
        JsonObject successor = gatekeeper.awaitHeld(later -> Gatekeeper.isSuccessor(later, about));
        resume(holder, about);
        gatekeeper.go(successor);
        gatekeeper.awaitAnswer(successor);
    }

    private void resume(Child holder, JsonObject about) {
        holder.resume();
        JsonObject answer = gatekeeper.awaitAnswer(about);
        if (is(answer, "unknown")) {
            // The storage's restart broke the connection; a client that does not know reads again under the same grant.
            answer = fleet.awaitReadAfter(answer);
        }
        if (answer.has("reason") && text(answer, "reason").equals("TOKEN_STALE")) {
            staleAfterPause++;
        }
    }

    private void restartObjects() {
        front.restart(() -> snapshot("restart " + (marks.size() + 1)));
    }

    private void snapshot(String when) {
        try {
            marks.add(front.marks(when));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Ends the clients, stops the services and gathers what all of them left behind. */
    Finished finish() throws IOException, SQLException {
        fleet.stop();
        Histories histories = Histories.read(historiesDir);
        marks.add(front.marks("end"));
        Run run = Database.readCopy(
                dataDir,
                connection -> new Run(
                        histories.grants(),
                        histories.increments(),
                        Database.applied(connection),
                        marks,
                        Database.counters(connection)));
        return new Finished(run, histories);
    }

    /** What a run left behind: for the checkers, and as its clients wrote it. */
    record Finished(Run run, Histories histories) {}

    int pauses() {
        return done(Fault.PAUSE_HOLDER)
                + done(Fault.PAUSE_HOLDER_UNTIL_READ)
                + done(Fault.PAUSE_HOLDER_RESTART_OBJECTS)
                + done(Fault.PAUSE_HOLDER_RESTART_SERVER);
    }

    /** Pauses after which the holder was told that its token is stale. */
    int staleAfterPause() {
        return staleAfterPause;
    }

    int done(Fault fault) {
        return done.getOrDefault(fault, 0);
    }

    void close() {
        fleet.close();
    }

    @Override
    public String toString() {
        return done + ", " + staleAfterPause + " pauses ended by TOKEN_STALE, " + marks.size()
                + " snapshots of the marks";
    }
}
