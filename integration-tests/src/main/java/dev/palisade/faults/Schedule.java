package dev.palisade.faults;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/**
 * What happens when, chosen by a seed alone: every kind of fault once in an order of the seed's choice, and again. It knows no
 * clock and no process; the same seed gives the same faults. One thread uses it.
 */
final class Schedule {
    private static final int GAP_MILLIS_MAX = 2_400;

    private final Random random;
    private final Deque<Kind> deck = new ArrayDeque<>();

    /** What can happen. */
    enum Kind {
        /** One to three clients are stopped where they stand (SIGSTOP), and continued. */
        PAUSE_CLIENTS(2_500, 8_000),
        /** kill -9; another client takes its place. */
        KILL_CLIENT(0, 0),
        /** Nothing goes one way, the other, or both, between a client and the lock server. */
        FREEZE_SERVER_LINK(300, 7_000),
        DELAY_SERVER_LINK(1_000, 6_000),
        /** All connections of a client to the lock server are reset. */
        CUT_SERVER_LINK(0, 0),
        FREEZE_OBJECTS_LINK(300, 7_000),
        DELAY_OBJECTS_LINK(1_000, 6_000),
        CUT_OBJECTS_LINK(0, 0),
        /** kill -9 of a lock server; it is started again on its data after that long. */
        KILL_SERVER(0, 1_500),
        STOP_SERVER(100, 10_000),
        KILL_OBJECTS(0, 1_500),
        STOP_OBJECTS(100, 6_000),
        /** An operator asks the holders of a lock to give it up. */
        REQUEST_RELEASE(0, 0),
        /** An operator ends the leases of a lock. */
        FORCE_RELEASE(0, 0),
        /** Nothing goes one way, the other, or both, between a lock server and Redis. */
        FREEZE_REDIS_LINK(300, 5_000, LockBackend.REDIS),
        /** All connections of a lock server to Redis are reset. */
        CUT_REDIS_LINK(0, 0, LockBackend.REDIS),
        STOP_REDIS(500, 5_000, LockBackend.OWN_REDIS),
        /** kill -9 of Redis; it is started again on its data after that long. */
        KILL_REDIS(0, 1_500, LockBackend.OWN_REDIS),
        /** kill -9 of Redis; it is started again with nothing. */
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

        /** What can happen to a run that keeps its locks there. */
        static List<Kind> of(LockBackend backend) {
            return Arrays.stream(values())
                    .filter(kind -> kind.backend.compareTo(backend) <= 0)
                    .toList();
        }
    }

    /**
     * One fault.
     *
     * @param afterMillis since the one before began
     * @param forMillis how long it lasts, 0: an instant
     * @param dice chooses who and how, together with who is there
     */
    record Planned(int number, Kind kind, long afterMillis, long forMillis, int dice) {}

    private final List<Kind> kinds;
    private int number;

    /** @param kinds what can happen at all */
    Schedule(long seed, List<Kind> kinds) {
        this.random = new Random(seed);
        this.kinds = List.copyOf(kinds);
        shuffle(firstPauses());
    }

    /** How many faults there are until every kind has had its turn. */
    int firstRound() {
        return kinds.size() + firstPauses();
    }

    /** The more else there is, the less often the lock that a stopped client holds is free for somebody. */
    private int firstPauses() {
        return Math.max(4, kinds.size() / 3);
    }

    /** The fault that this is all about comes more often. */
    private void shuffle(int morePauses) {
        List<Kind> round = new ArrayList<>(kinds);
        round.addAll(Collections.nCopies(morePauses, Kind.PAUSE_CLIENTS));
        Collections.shuffle(round, random);
        deck.addAll(round);
    }

    Planned next() {
        if (deck.isEmpty()) {
            // Services are rarely well if they are harmed as often as clients, and then little happens.
            shuffle(3);
            List<Kind> clients =
                    kinds.stream().filter(kind -> !kind.ofService()).toList();
            List<Kind> more = new ArrayList<>(clients);
            more.addAll(Collections.nCopies(3, Kind.PAUSE_CLIENTS));
            Collections.shuffle(more, random);
            deck.addAll(more);
        }
        Kind kind = deck.remove();
        // Mostly short, now and then as long as it may be: the square of an even number between 0 and 1.
        double share = random.nextDouble();
        long lasting = kind.shortestMillis + Math.round((kind.longestMillis - kind.shortestMillis) * share * share);
        return new Planned(
                ++number, kind, 50 + random.nextInt(GAP_MILLIS_MAX), lasting, random.nextInt(Integer.MAX_VALUE));
    }
}
