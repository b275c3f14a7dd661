package dev.palisade.cli.term;

import dev.palisade.contract.HostName;

/** Name of the calling user and process. For display: no decision depends on it. */
public final class Person {
    private static final int LENGTH_MAX = 32;

    private Person() {}

    /** {@code user@host pid 123}: tells two runs on one machine apart. */
    public static String here() {
        return user() + HostName.withPid();
    }

    /** {@code user@host}. */
    public static String userAtHost() {
        return user() + HostName.here();
    }

    private static String user() {
        String name = Plain.text(System.getProperty("user.name", "?"));
        return name.substring(0, Math.min(LENGTH_MAX, name.length())) + "@";
    }
}
