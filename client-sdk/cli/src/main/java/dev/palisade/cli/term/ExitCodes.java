package dev.palisade.cli.term;

/**
 * What the exit codes mean, of all verbs. Those of {@code run} stand between 120 and 127, where programs hardly ever have their own
 * and the shell has 126 and 127 already; 124 is left to {@code timeout}.
 */
public final class ExitCodes {
    public static final int OK = 0;

    /** The answer is no: a lease that is not alive, nothing that could be ended. */
    public static final int NO = 1;

    /** The command line, environment or config file cannot be used. */
    public static final int USAGE = 2;

    /** No lock server could say, or it refused. */
    public static final int NO_ANSWER = 3;

    /** Done, and the answer could not be written to standard output. */
    public static final int NOT_WRITTEN = 4;

    /** {@code run --wait 0s}: the lock is taken. The command did not run. */
    public static final int BUSY = 120;

    /** {@code run}: not granted within the wait. The command did not run. */
    public static final int TIMED_OUT = 121;

    /** {@code run}: the lock was lost or asked back, and the command was told to end. */
    public static final int LOST = 122;

    /** {@code run}: no lock server could say. The command did not run. */
    public static final int RUN_NO_ANSWER = 123;

    /** {@code run}: the command could not be run, or watched. */
    public static final int CANNOT_RUN = 125;

    public static final int NOT_EXECUTABLE = 126;
    public static final int NOT_FOUND = 127;

    /** The shell's code for an end by signal n is this and n. */
    public static final int SIGNALLED = 128;

    private ExitCodes() {}
}
