package dev.palisade.server.ownership;

import java.util.Set;

/**
 * What is tried, and which rules are wrong in it.
 *
 * @param resumes whether the documented overlap may be
 * @param faults how many things go wrong
 * @param repeats whether a kind of fault may come again
 * @param ticks after which nothing more is looked at
 * @param loadTicks how long loading takes
 * @param flights how many replies may be received later than another batch is sent
 */
record WorldSetup(
        LogRules rules,
        OwnershipMachine machine,
        boolean resumes,
        Set<Fault> kinds,
        int faults,
        int grants,
        boolean repeats,
        int ticks,
        int loadTicks,
        int flights,
        Set<Planted> planted) {
    static final long TICK = 1_000;
    /** Of a lease, and of a recovery window. */
    static final long TTL = 5 * TICK;

    /** What can go wrong. */
    enum Fault {
        /** A server is killed, and may start again. */
        CRASH,
        /** A server stops for a time, between two steps or with a reply under way. */
        PAUSE,
        /** The connection breaks before or after a request arrives. */
        CUT,
        /** A request that was given up, or was answered, arrives later. */
        LATE,
        /** The log starts again with all its data. */
        RESTART,
        /** The log starts again with earlier data, as a lagging replica does. */
        LOSS,
        /** The log starts again, empty. */
        EMPTY,
        /** The log is emptied under its process. */
        FLUSH,
        /** The functions are loaded again. */
        RELOAD,
        /** Earlier data come back under a process that saw later ones. */
        RESTORE,
        /** The log refuses a batch. */
        REFUSE,
        /** A server is asked to stop. */
        STOP
    }

    /** A rule of the driver that is not followed. */
    enum Planted {
        /** A server without contact goes on to answer keep-alives. */
        KEEP_ALIVE_FROM_MEMORY,
        /** Leases are at their full length when the claim is granted, not when loading has finished. */
        LEASES_FROM_THE_CLAIM,
        /** A batch without a reply is taken for not stored, and the next one has its number. */
        OTHER_BATCH,
        /** One reply is taken for the reply to all batches in flight. */
        ONE_REPLY_FOR_ALL,
        /** Batches count as refused if the last one was, whatever the outcome of those before. */
        OUTCOME_OF_THE_LAST
    }

    WorldSetup with(Planted fault) {
        return new WorldSetup(
                rules, machine, resumes, kinds, faults, grants, repeats, ticks, loadTicks, flights, Set.of(fault));
    }

    WorldSetup with(int newGrants, int newTicks, int newLoadTicks) {
        return new WorldSetup(
                rules, machine, resumes, kinds, faults, newGrants, repeats, newTicks, newLoadTicks, flights, planted);
    }
}
