package dev.palisade.incidents;

import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The rule by which tokens are minted in Redis, as the lock server ships it: the text of those of its functions that do so, or the same with
 * one edit that makes it weaker, in which the run must find something.
 */
record Rule(String code) {
    /** What the barrier, the shortest command that mints, and the epochs stand on, in this order. */
    private static final List<String> FILES =
            List.of("library", "clock", "tokens", "lock", "step", "barrier", "domain");

    private static final String SERVER = "lock-server/target/palisade-server.jar";

    /** All of it, out of the lock server's jar. */
    static Rule shipped() {
        String jar = Installation.jar(SERVER);
        try (ZipFile server = new ZipFile(jar)) {
            StringBuilder code = new StringBuilder();
            for (String file : FILES) {
                ZipEntry entry = server.getEntry("redis/" + file + ".lua");
                if (entry == null) {
                    throw new IllegalStateException("redis/" + file + ".lua is not in " + jar);
                }
                try (InputStream text = server.getInputStream(entry)) {
                    code.append(new String(text.readAllBytes(), StandardCharsets.UTF_8));
                }
            }
            return new Rule(code.toString());
        } catch (IOException e) {
            throw new UncheckedIOException(jar + " cannot be read; run: mvn package", e);
        }
    }

    /**
     * The rule with one passage in place of another.
     *
     * @throws IllegalStateException unless {@code passage} is there exactly once
     */
    Rule with(String passage, String other) {
        int at = code.indexOf(passage);
        if (at < 0 || code.indexOf(passage, at + 1) >= 0) {
            throw new IllegalStateException("not there exactly once: " + passage);
        }
        return new Rule(code.replace(passage, other));
    }
}
