package dev.palisade.faults;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/**
 * Random schedule of faults, determined by a seed: shuffled rounds that contain every kind. It uses neither clock nor
 * processes. One thread uses it.
 */
final class Schedule {
    private static final int GAP_MILLIS_MAX = 2_400;

    private final Random random;
    private final Deque<Kind> deck = new ArrayDeque<>();

    /** Kind of fault. */
    enum Kind {
        /** SIGSTOP of one to three clients, then SIGCONT. */
        PAUSE_CLIENTS(2_500, 8_000),
        /** SIGKILL of a client, which is replaced. */
        KILL_CLIENT(0, 0),
        /** Frozen link between a client and the lock server, in one direction or both. */
        FREEZE_SERVER_LINK(300, 7_000),
        DELAY_SERVER_LINK(1_000, 6_000),
        /** All connections of a client to the lock server are reset. */
        CUT_SERVER_LINK(0, 0),
        FREEZE_OBJECTS_LINK(300, 7_000),
        DELAY_OBJECTS_LINK(1_000, 6_000),
        CUT_OBJECTS_LINK(0, 0),
        /** SIGKILL of a lock server, then a restart on its data. */
        KILL_SERVER(0, 1_500),
        STOP_SERVER(100, 10_000),
        KILL_OBJECTS(0, 1_500),
        STOP_OBJECTS(100, 6_000),
        /** An operator requests the release of a lock. */
        REQUEST_RELEASE(0, 0),
        /** An operator ends the leases of a lock. */
        FORCE_RELEASE(0, 0),
        /** Frozen link between a lock server and Redis, in one direction or both. */
        FREEZE_REDIS_LINK(300, 5_000, LockBackend.REDIS),
        /** All connections of a lock server to Redis are reset. */
        CUT_REDIS_LINK(0, 0, LockBackend.REDIS),
        STOP_REDIS(500, 5_000, LockBackend.OWN_REDIS),
        /** SIGKILL of Redis, then a restart on its data. */
        KILL_REDIS(0, 1_500, LockBackend.OWN_REDIS),
        /** SIGKILL of Redis, then a restart without data. */
        EMPTY_REDIS(0, 1_500, LockBackend.OWN_REDIS),
        FLUSH_REDIS(0, 0, LockBackend.OWN_REDIS),
        FLUSH_FUNCTIONS(0, 0, LockBackend.OWN_REDIS),
        /** The count of tokens. */
        DELETE_COUNTER(0, 0, LockBackend.OWN_REDIS);

        private final int shortestMillis;
        private final int longestMillis;
        private final LockBackend backend;

        Kind(int shortestMillis, int longestMillis) {
            this(shortestMillis, longestMillis, LockBackend.DATA_DIR);
        }

        Kind(int shortestMillis, int longestMillis, LockBackend backend) {
            this.shortestMillis = shortestMillis;
            this.longestMillis = longestMillis;
            this.backend = backend;
        }

        private boolean ofService() {
            return this == KILL_SERVER
                    || this == STOP_SERVER
                    || this == KILL_OBJECTS
                    || this == STOP_OBJECTS
                    || backend != LockBackend.DATA_DIR;
        }

        /** The kinds that are possible with this lock backend. */
        static List<Kind> of(LockBackend backend) {
            return Arrays.stream(values())
                    .filter(kind -> kind.backend.compareTo(backend) <= 0)
                    .toList();
        }
    }

    /**
     * One fault.
     *
     * @param afterMillis since the start of the previous fault
     * @param forMillis its duration; 0 for an instantaneous fault
     * @param dice random number that chooses target and details
     */
    record Planned(int number, Kind kind, long afterMillis, long forMillis, int dice) {}

    private final List<Kind> kinds;
    private int number;

    /** @param kinds of faults */
    Schedule(long seed, List<Kind> kinds) {
        this.random = new Random(seed);
        this.kinds = List.copyOf(kinds);
        shuffle(extraPauses());
    }

    /** The number of faults until every kind has occurred. */
    int firstRound() {
        return kinds.size() + extraPauses();
    }

    /** The number of extra pauses: with more kinds, the lock of a paused client is granted to another less often. */
    private int extraPauses() {
        return Math.max(4, kinds.size() / 3);
    }

    /** Adds a round, with extra pauses of clients, the most important fault. */
    private void shuffle(int morePauses) {
        List<Kind> round = new ArrayList<>(kinds);
        round.addAll(Collections.nCopies(morePauses, Kind.PAUSE_CLIENTS));
        Collections.shuffle(round, random);
        deck.addAll(round);
    }

    Planned next() {
        if (deck.isEmpty()) {
            // Clients get more faults than services, because little happens while services are down.
            shuffle(3);
            List<Kind> clients =
                    kinds.stream().filter(kind -> !kind.ofService()).toList();
            List<Kind> more = new ArrayList<>(clients);
            more.addAll(Collections.nCopies(3, Kind.PAUSE_CLIENTS));
            Collections.shuffle(more, random);
            deck.addAll(more);
        }
        Kind kind = deck.remove();
        // Mostly short, sometimes as long as allowed: the square of a uniform number between 0 and 1.
        double share = random.nextDouble();
        long lasting = kind.shortestMillis + Math.round((kind.longestMillis - kind.shortestMillis) * share * share);
        return new Planned(
                ++number, kind, 50 + random.nextInt(GAP_MILLIS_MAX), lasting, random.nextInt(Integer.MAX_VALUE));
    }
}
