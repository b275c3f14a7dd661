package dev.palisade.contract.cli;

import java.nio.file.Path;

/** What every command assumes unless told otherwise, so that a server and a guard on one machine find each other. */
public final class Defaults {
    /** The name of the lock service in its sequencers. */
    public static final String ISSUER = "palisade";

    private Defaults() {}

    /** {@code $PALISADE_HOME}, else {@code ~/.palisade}. */
    public static Path home() {
        String home = System.getenv("PALISADE_HOME");
        return home == null || home.isEmpty() ? Path.of(System.getProperty("user.home"), ".palisade") : Path.of(home);
    }

    /** The signing keyset that lock servers and guards share. */
    public static Path keyset() {
        return home().resolve("keys").resolve("sequencers.json");
    }
}
