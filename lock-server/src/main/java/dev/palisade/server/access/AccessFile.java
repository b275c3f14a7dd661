package dev.palisade.server.access;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;

/**
 * A text file in its last good state. New content is used when two reads in a row found it, because a file that is being written is read
 * half. Content with mistakes changes nothing. {@link #reload} is for one thread; {@link #value} is for all.
 *
 * @param <T> what the file says
 */
public class AccessFile<T> implements Reloadable {
    private static final int BYTES_MAX = 4 << 20;

    private final Path path;
    private final boolean isSecret;
    private final Parse<T> parse;
    private volatile T value;
    private String inUse;
    private String seen;
    private List<String> reported = List.of();
    private volatile boolean isUsable = true;

    /** Text to what it says. */
    @FunctionalInterface
    public interface Parse<T> {
        T parse(Path path, String text) throws FileMistakes;
    }

    /**
     * Reads the file.
     *
     * @param isSecret whether others must not read it, either
     */
    public AccessFile(Path path, boolean isSecret, Parse<T> parse) throws FileMistakes {
        this.path = path;
        this.isSecret = isSecret;
        this.parse = parse;
        this.inUse = read(path, isSecret);
        this.seen = inUse;
        this.value = parsed(inUse);
    }

    /** An empty file is usually a mistake, such as a full disk, and an empty policy allows nothing. */
    private T parsed(String text) throws FileMistakes {
        if (text.isBlank()) {
            throw new FileMistakes(path, path + " is empty; if that is meant, write a comment into it: # nobody");
        }
        return parse.parse(path, text);
    }

    /** By the last good content. */
    public T value() {
        return value;
    }

    @Override
    public String source() {
        return path.toString();
    }

    @Override
    public String keeps() {
        return "the last good one stays in use";
    }

    @Override
    public boolean reload() throws FileMistakes {
        String now;
        FileMistakes unreadable = null;
        try {
            now = read(path, isSecret);
        } catch (FileMistakes e) {
            now = "\0" + e.getMessage();
            unreadable = e;
        }
        boolean again = now.equals(seen);
        seen = now;
        if (!again || (isUsable && now.equals(inUse))) {
            return false;
        }
        try {
            if (unreadable != null) {
                throw unreadable;
            }
            boolean isNew = !now.equals(inUse); // Else as it was before the mistake.
            if (isNew) {
                value = parsed(now);
                inUse = now;
            }
            isUsable = true;
            reported = List.of();
            return isNew;
        } catch (FileMistakes e) {
            isUsable = false;
            if (e.lines().equals(reported)) {
                return false; // A file that it names may be there next time.
            }
            reported = e.lines();
            throw e;
        }
    }

    @Override
    public boolean isUsable() {
        return isUsable;
    }

    static String read(Path path, boolean isSecret) throws FileMistakes {
        try {
            if (Files.exists(path) && !Files.isRegularFile(path)) {
                throw new FileMistakes(path, path + " is no regular file; it is read again and again, so name a file");
            }
            requireMode(path, isSecret);
            try (InputStream in = Files.newInputStream(path)) {
                byte[] bytes = in.readNBytes(BYTES_MAX + 1);
                if (bytes.length > BYTES_MAX) {
                    throw new FileMistakes(
                            path, path + " has more than " + (BYTES_MAX >> 20) + " MiB; is it the right file?");
                }
                return StandardCharsets.UTF_8
                        .newDecoder()
                        .decode(ByteBuffer.wrap(bytes))
                        .toString();
            }
        } catch (NoSuchFileException e) {
            throw new FileMistakes(path, path + " does not exist");
        } catch (AccessDeniedException e) {
            throw new FileMistakes(path, path + " may not be read by this user");
        } catch (CharacterCodingException e) {
            throw new FileMistakes(path, path + " is not UTF-8 text; is it the right file?");
        } catch (IOException e) {
            throw new FileMistakes(path, path + " cannot be read (" + e.getMessage() + ")");
        }
    }

    /** A user who can write it could admit any client. */
    private static void requireMode(Path path, boolean isSecret) throws IOException, FileMistakes {
        if (!Files.getFileStore(path).supportsFileAttributeView("posix")) {
            return;
        }
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(path);
        boolean isWritable =
                mode.contains(PosixFilePermission.GROUP_WRITE) || mode.contains(PosixFilePermission.OTHERS_WRITE);
        boolean isReadable = isSecret && mode.contains(PosixFilePermission.OTHERS_READ);
        if (isWritable || isReadable) {
            throw new FileMistakes(
                    path,
                    path + " can be " + (isWritable ? "written" : "read") + " by others ("
                            + PosixFilePermissions.toString(mode) + "); chmod " + (isSecret ? "600" : "644") + " it");
        }
    }
}
