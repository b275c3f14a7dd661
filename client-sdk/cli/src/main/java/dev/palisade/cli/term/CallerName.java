package dev.palisade.cli.term;

import dev.palisade.contract.HostName;

/** Display name of the calling user and process. It is never used for a decision. */
public final class CallerName {
    private static final int LENGTH_MAX = 32;

    private CallerName() {}

    /** {@code user@host pid 123}: distinguishes two processes of one machine. */
    public static String process() {
        return user() + HostName.withPid();
    }

    /** {@code user@host}. */
    public static String userAtHost() {
        return user() + HostName.here();
    }

    private static String user() {
        String name = TerminalText.text(System.getProperty("user.name", "?"));
        return name.substring(0, Math.min(LENGTH_MAX, name.length())) + "@";
    }
}
