package dev.palisade.server.access;

import com.google.common.hash.Hashing;
import dev.palisade.contract.OwnerOnly;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Bearer tokens of users, as SHA-256 hashes. A token is 256 random bits, so it needs no slow hash, and a lookup by its hash tells nothing
 * of how much of a wrong token was right. Immutable; safe to share between threads.
 */
public final class UserTokens {
    /** Begins every token, so that one that was pasted somewhere is recognised. */
    public static final String PREFIX = "palisade_";

    /** Random bytes of a token. */
    public static final int TOKEN_BYTES = 32;

    private static final int TOKEN_CHARS = PREFIX.length() + 43;
    private static final Pattern TOKEN = Pattern.compile(PREFIX + "[A-Za-z0-9_-]{43}");
    private static final Pattern HASH = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");

    private final Path path;
    private final Map<String, String> nameByHash;

    private UserTokens(Path path, Map<String, String> nameByHash) {
        this.path = path;
        this.nameByHash = nameByHash;
    }

    /** Whether a token is in {@code text}, which must not be shown then. */
    static boolean isIn(String text) {
        return TOKEN.matcher(text).find();
    }

    /**
     * Parses a file of users: {@code NAME SHA-256 DATE} in each line. A name may have several tokens.
     *
     * @throws FileMistakes all of them
     */
    public static UserTokens parse(Path path, String text) throws FileMistakes {
        Map<String, String> names = new HashMap<>();
        List<String> mistakes = new ArrayList<>();
        List<String> lines = text.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            if (line.isEmpty() || line.startsWith("#")) {
                continue;
            }
            String[] words = line.split("\\s+", -1);
            String where = path + ":" + (i + 1) + ": ";
            // A quoted line might be a pasted token.
            if (words.length != 3
                    || !Policy.isUserName(words[0])
                    || !HASH.matcher(words[1]).matches()
                    || !DATE.matcher(words[2]).matches()) {
                mistakes.add(where + "not a user; each line is NAME SHA-256 DATE, as palisade users add writes it");
            } else if (names.putIfAbsent(words[1], words[0]) != null) {
                mistakes.add(where + "the hash stands in the file twice; remove one of the lines");
            }
        }
        if (!mistakes.isEmpty()) {
            throw new FileMistakes(path, mistakes);
        }
        return new UserTokens(path, Map.copyOf(names));
    }

    /** Whose token it is; empty when it is none of these. */
    public Optional<String> nameOf(String token) {
        return token.length() == TOKEN_CHARS && token.startsWith(PREFIX)
                ? Optional.ofNullable(nameByHash.get(hash(token)))
                : Optional.empty();
    }

    /** Whether a user of this name has a token. */
    public boolean has(String name) {
        return nameByHash.containsValue(name);
    }

    /** Of all users. */
    Set<String> names() {
        return Set.copyOf(nameByHash.values());
    }

    /** Such as {@code users users.txt, 3 tokens}. */
    public String shown() {
        return "users " + path + ", " + nameByHash.size() + (nameByHash.size() == 1 ? " token" : " tokens");
    }

    /**
     * Appends a user to {@code path}, which is made with mode 0600 if it does not exist.
     *
     * @param random {@link #TOKEN_BYTES} random bytes
     * @return the token, which is kept nowhere
     * @throws IllegalArgumentException when this is no name of a user
     * @throws FileMistakes when the file is not one of users
     */
    public static String add(Path path, String name, byte[] random, LocalDate date) throws IOException, FileMistakes {
        if (!Policy.isUserName(name)) {
            throw new IllegalArgumentException("a user's name has 1 to 64 letters, digits and . _ -");
        }
        Path parent = path.toAbsolutePath().getParent();
        if (parent != null) {
            OwnerOnly.createDirectories(parent);
        }
        boolean isNew = Files.notExists(path);
        String token = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(random);
        try (FileChannel file =
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            var unusedLock = file.lock(); // Two administrators may add at the same time.
            if (isNew) {
                OwnerOnly.restrict(path);
            }
            String before = AccessFile.read(path, true);
            parse(path, before);
            String end = before.isEmpty() || before.endsWith("\n") ? "" : "\n";
            ByteBuffer line = ByteBuffer.wrap(
                    (end + name + " " + hash(token) + " " + date + "\n").getBytes(StandardCharsets.UTF_8));
            long at = file.size();
            while (line.hasRemaining()) {
                at += file.write(line, at);
            }
            file.force(true);
        }
        return token;
    }

    /** SHA-256 in hexadecimal. */
    static String hash(String token) {
        return Hashing.sha256().hashString(token, StandardCharsets.UTF_8).toString();
    }
}
