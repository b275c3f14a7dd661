package dev.palisade.cli.term;

/**
 * Exit codes of all verbs. Those of {@code run} are between 119 and 127, where programs hardly ever have their own and the shell
 * has 126 and 127 already; 124 is left to {@code timeout}.
 */
public final class ExitCodes {
    public static final int OK = 0;

    /**
     * The answer is no: the lock is taken, the lease has ended, the lock is not held, the store is down, several servers are
     * active.
     */
    public static final int NO = 1;

    /** The command line, environment or config file cannot be used. */
    public static final int USAGE = 2;

    /** No lock server could be reached, replied in time, or could decide. */
    public static final int NO_ANSWER = 3;

    /** Done, but the output could not be written to standard output. */
    public static final int NOT_WRITTEN = 4;

    /** The lock server rejected the request. */
    public static final int REJECTED = 5;

    /** {@code run}: the lock server rejected the request. The command did not run. */
    public static final int RUN_REJECTED = 119;

    /** {@code run --wait 0s}: the lock is taken. The command did not run. */
    public static final int BUSY = 120;

    /** {@code run}: not granted within the wait. The command did not run. */
    public static final int TIMED_OUT = 121;

    /** {@code run}: the lock was lost, or its release was requested; the command was terminated. */
    public static final int LOST = 122;

    /** {@code run}: no lock server could be reached, replied in time, or could decide. The command did not run. */
    public static final int RUN_NO_ANSWER = 123;

    /** {@code run}: the command could not be started or watched. */
    public static final int CANNOT_RUN = 125;

    public static final int NOT_EXECUTABLE = 126;
    public static final int NOT_FOUND = 127;

    /** The shell's code for an end by signal n is this and n. */
    public static final int SIGNALLED = 128;

    private ExitCodes() {}
}
