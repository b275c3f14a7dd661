package dev.palisade.contract.crypto;

import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * File of a keyset: of the one that lock servers and guards share, or of the public keys that are all a guard needs. A keyset with
 * secrets can be read by its owner only, or, if root owns it, by its group too. A changed file is taken up within a second of its
 * next use, so a rotation needs no restart; a file that turned unreadable leaves the last good keys in place. Safe to share between
 * threads.
 */
public final class KeysetFile {
    private static final System.Logger LOG = System.getLogger(KeysetFile.class.getName());
    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rw-------");
    private static final int ROOT_UID = 0;
    private static final int BYTES_MAX = 1 << 20;
    private static final long RELOAD_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Path path;
    private final boolean signs;
    private final LongSupplier nanoTime;
    private final ReentrantLock reloading = new ReentrantLock();
    private volatile Loaded loaded;
    private volatile @Nullable String problem;

    private record Loaded(SequencerKeys keys, FileTime modified, long size, long checkedNanos) {}

    private KeysetFile(Path path, boolean signs, LongSupplier nanoTime) throws IOException {
        this.path = path;
        this.signs = signs;
        this.nanoTime = nanoTime;
        this.loaded = load();
    }

    /**
     * Opens {@code path} for a guard: a keyset that signs, or the public keys that {@code palisade keys export-public} prints.
     *
     * @throws IOException in one line, when the file is missing, not a keyset, readable by others though it is secret, or writable
     *     by others
     * @throws IllegalStateException when protobuf-java on the class path is older than Tink can run with
     */
    public static KeysetFile open(Path path) throws IOException {
        return new KeysetFile(path, false, System::nanoTime);
    }

    /**
     * Opens {@code path} for a lock server.
     *
     * @throws IOException as {@link #open} does, and for public keys, which do not sign
     * @throws IllegalStateException as {@link #open} does
     */
    public static KeysetFile openToSign(Path path) throws IOException {
        return new KeysetFile(path, true, System::nanoTime);
    }

    /**
     * As {@link #openToSign}, made with one fresh HMAC key and mode 0600 if it does not exist. Two processes may race: one makes
     * it.
     */
    public static KeysetFile openOrCreate(Path path) throws IOException {
        return openOrCreate(path, SequencerKeys.Algorithm.HMAC);
    }

    /** As {@link #openOrCreate(Path)}, with another algorithm for the fresh key. */
    public static KeysetFile openOrCreate(Path path, SequencerKeys.Algorithm algorithm) throws IOException {
        if (!Files.exists(path)) {
            try {
                createNew(path, SequencerKeys.generate(algorithm));
            } catch (FileSystemException e) {
                throw new IOException(
                        "signing keyset " + path + " cannot be made (" + why(e) + "); name another with --keyset", e);
            }
        }
        return openToSign(path);
    }

    private static String why(FileSystemException failure) {
        String reason = failure.getReason() == null
                ? failure.getClass().getSimpleName().replace("Exception", "")
                : failure.getReason();
        return reason + ": " + failure.getFile();
    }

    /** The keys as they stand in the file now. */
    public SequencerKeys keys() {
        Loaded now = loaded;
        if (nanoTime.getAsLong() - now.checkedNanos() < RELOAD_NANOS || !reloading.tryLock()) {
            return now.keys();
        }
        try {
            loaded = reload(now);
        } finally {
            reloading.unlock();
        }
        return loaded.keys();
    }

    /** A verifier that follows the file, of {@code issuer}'s sequencers without an audience. */
    public SequencerVerifier verifier(String issuer) {
        return verifier(issuer, Optional.empty());
    }

    /**
     * A verifier that follows the file, of {@code issuer}'s sequencers for one guard group.
     *
     * @param audience the group's name in the lock server's {@code --guard-groups}
     * @throws dev.palisade.contract.RejectedException MALFORMED_REQUEST when no group can be called so
     */
    public SequencerVerifier verifier(String issuer, String audience) {
        return verifier(issuer, Optional.of(Sequencer.requireAudience(audience)));
    }

    private SequencerVerifier verifier(String issuer, Optional<String> audience) {
        SequencerKeys now = keys();
        if (!signs && now.algorithm() == SequencerKeys.Algorithm.ED25519 && now.canSign()) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "signing keyset {0} has private keys, so this guard could sign; give it the public ones:"
                            + " palisade keys export-public",
                    path);
        }
        return signed -> keys().verify(signed, issuer, audience);
    }

    /** Signs with the primary key of the file. */
    public SignedSequencer sign(Sequencer sequencer) {
        return keys().sign(sequencer);
    }

    /**
     * Replaces the keys, in the file and here: written aside, synced, then moved into place. Owner, group and mode stay: root must not
     * take a keyset from the user of a server.
     *
     * @throws IOException in one line, when this user cannot keep the owner; then nothing is changed
     */
    public void replace(SequencerKeys keys) throws IOException {
        Path aside = writeAside(path, keys);
        try {
            keepOwner(path, aside);
            Files.move(aside, path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(aside);
        }
        reloading.lock();
        try {
            loaded = load();
        } finally {
            reloading.unlock();
        }
    }

    public Path path() {
        return path;
    }

    /** Why the keys in use are not those in the file, in one line; empty while they are. Follows the file as {@link #keys} does. */
    public Optional<String> problem() {
        var unused = keys();
        return Optional.ofNullable(problem);
    }

    private Loaded reload(Loaded old) {
        try {
            boolean isSame = Files.isReadable(path)
                    && Files.getLastModifiedTime(path).equals(old.modified())
                    && Files.size(path) == old.size();
            Loaded now = isSame ? new Loaded(old.keys(), old.modified(), old.size(), nanoTime.getAsLong()) : load();
            problem = null;
            return now;
        } catch (IOException e) {
            String why = String.valueOf(e.getMessage());
            if (!why.equals(problem)) {
                LOG.log(System.Logger.Level.ERROR, "keeping the last good signing keys: {0}", why);
            }
            problem = why;
            return new Loaded(old.keys(), old.modified(), old.size(), nanoTime.getAsLong());
        }
    }

    private Loaded load() throws IOException {
        if (!Files.exists(path)) {
            throw new IOException(
                    "signing keyset " + path + " does not exist; start a lock server once, or copy it here");
        }
        if (Files.isDirectory(path)) {
            throw new IOException("signing keyset " + path + " is a directory; name a file");
        }
        if (!Files.isRegularFile(path)) {
            throw new IOException(
                    "signing keyset " + path + " is not a usable keyset: it is a pipe or a device; name a file");
        }
        if (!Files.isReadable(path)) {
            throw new IOException("signing keyset " + path + " cannot be read; run as its owner");
        }
        FileTime modified = Files.getLastModifiedTime(path);
        long size = Files.size(path);
        SequencerKeys keys = parsed();
        refuseIfShared(keys);
        if (signs && !keys.canSign()) {
            throw new IOException(
                    "signing keyset " + path + " has public keys only, which verify and do not sign; name the"
                            + " keyset that they were exported from");
        }
        return new Loaded(keys, modified, size, nanoTime.getAsLong());
    }

    private SequencerKeys parsed() throws IOException {
        try {
            return SequencerKeys.ofJson(json(path));
        } catch (LinkageError e) {
            throw LinkageErrors.exception(e); // Tink needs a newer protobuf-java than the wire format does.
        } catch (SequencerKeys.UnfitKeyException e) {
            throw new IOException(
                    "signing keyset " + path + " is not a usable keyset: " + e.getMessage()
                            + "; restore it from a good copy, or use keys that palisade made",
                    e);
        } catch (GeneralSecurityException | CharacterCodingException | RuntimeException e) {
            throw new IOException("signing keyset " + path + " is not a usable keyset; restore it from a good copy", e);
        }
    }

    private static String json(Path path) throws IOException {
        try (InputStream file = Files.newInputStream(path)) {
            byte[] bytes = file.readNBytes(BYTES_MAX + 1);
            if (bytes.length > BYTES_MAX) {
                throw new IllegalArgumentException("more than " + BYTES_MAX + " bytes");
            }
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        }
    }

    private void refuseIfShared(SequencerKeys keys) throws IOException {
        if (!posix(path)) {
            return;
        }
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
        if (!keys.canSign()) {
            if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                    || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
                throw new IOException("public keyset " + path + " can be changed by others ("
                        + PosixFilePermissions.toString(permissions)
                        + "), who could add keys of their own: chmod 644 it");
            }
            return;
        }
        int owner = (int) Files.getAttribute(path, "unix:uid");
        if (isShared(permissions, owner)) {
            throw new IOException("signing keyset " + path + " can be used by others ("
                    + PosixFilePermissions.toString(permissions) + ", owner " + owner
                    + "; a group may read only a file of root's): chmod 600 it, or in a Kubernetes Secret defaultMode 0440"
                    + " and fsGroup");
        }
    }

    /**
     * Whether others than its owner can use a file with {@code permissions}. As for the key files of PostgreSQL, the group may
     * read a file of root: there root has chosen the group, as Kubernetes does for a Secret with fsGroup.
     */
    static boolean isShared(Set<PosixFilePermission> permissions, int ownerUid) {
        Set<PosixFilePermission> excess = new HashSet<>(permissions);
        excess.removeAll(OWNER_ONLY);
        excess.remove(PosixFilePermission.OWNER_EXECUTE);
        if (ownerUid == ROOT_UID) {
            excess.remove(PosixFilePermission.GROUP_READ);
        }
        return !excess.isEmpty();
    }

    private static void createNew(Path path, SequencerKeys keys) throws IOException {
        Path parent = path.toAbsolutePath().getParent();
        if (parent != null) {
            Files.createDirectories(parent);
        }
        Path aside = writeAside(path, keys);
        try {
            Files.createLink(path, aside);
        } catch (FileAlreadyExistsException e) {
            // Another process made it first: its keys count.
        } finally {
            Files.deleteIfExists(aside);
        }
    }

    private static Path writeAside(Path path, SequencerKeys keys) throws IOException {
        Path directory = path.toAbsolutePath().getParent();
        Path aside = Files.createTempFile(directory, path.getFileName() + ".", ".new");
        try (FileChannel channel = FileChannel.open(aside, StandardOpenOption.WRITE)) {
            if (posix(aside)) {
                Files.setPosixFilePermissions(aside, OWNER_ONLY);
            }
            ByteBuffer json = ByteBuffer.wrap(keys.toJson().getBytes(StandardCharsets.UTF_8));
            while (json.hasRemaining()) {
                channel.write(json);
            }
            channel.force(true);
        }
        return aside;
    }

    private static void keepOwner(Path path, Path aside) throws IOException {
        if (!posix(path)) {
            return;
        }
        PosixFileAttributes now = Files.readAttributes(path, PosixFileAttributes.class);
        PosixFileAttributeView next = Files.getFileAttributeView(aside, PosixFileAttributeView.class);
        try {
            if (!next.getOwner().equals(now.owner())) {
                next.setOwner(now.owner());
            }
            if (!next.readAttributes().group().equals(now.group())) {
                next.setGroup(now.group());
            }
        } catch (FileSystemException e) {
            throw new IOException(
                    "signing keyset " + path + " belongs to " + now.owner().getName() + ":"
                            + now.group().getName() + ", which this user cannot keep; run as its owner",
                    e);
        }
        next.setPermissions(now.permissions());
    }

    private static boolean posix(Path path) throws IOException {
        return Files.getFileStore(path).supportsFileAttributeView("posix");
    }
}
