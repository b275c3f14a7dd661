package dev.palisade.guard.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Objects;

/**
 * One Lua script as EVAL takes it: the work of a call, then {@code fence.lua}, which runs the work once the token is
 * admitted. The check exists once, whatever the work is.
 *
 * @param text the whole script
 * @param digest its SHA-1 in hexadecimal, the name by which Redis keeps it
 * @param isCallers whether the work is a script of the caller's
 */
record FenceScript(String text, String digest, boolean isCallers) {
    private static final String FENCE = resource("fence.lua");
    private static final FenceScript OF_COMMANDS = of(resource("commands.lua"), FENCE, false);
    private static final String SCRIPT = resource("script.lua");

    /** Runs a list of commands. */
    static FenceScript ofCommands() {
        return OF_COMMANDS;
    }

    /** Runs {@code caller}, whose first line stays the first, so that Redis' errors name the caller's lines. */
    static FenceScript ofCaller(String caller) {
        return of("local function caller(KEYS, ARGV) " + caller + "\nend\n" + SCRIPT, FENCE, true);
    }

    static FenceScript of(String work, String fence, boolean isCallers) {
        String text = work + fence;
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
            return new FenceScript(text, HexFormat.of().formatHex(digest), isCallers);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("a JDK without SHA-1", e);
        }
    }

    static String resource(String name) {
        try (InputStream lines = Objects.requireNonNull(FenceScript.class.getResourceAsStream(name))) {
            return new String(lines.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
