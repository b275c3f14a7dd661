package dev.palisade.contract;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Permissions of files that hold session ids or users' data: 0700 for a directory, 0600 for a file. On a file system without
 * POSIX permissions these calls only create.
 */
public final class OwnerOnly {
    private static final Set<PosixFilePermission> DIRECTORY = PosixFilePermissions.fromString("rwx------");
    private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-------");
    private static final Set<PosixFilePermission> OTHERS = PosixFilePermissions.fromString("---rwxrwx");

    private OwnerOnly() {}

    /**
     * Creates {@code directory}, and the parents that are missing. A directory that exists is left as it is.
     *
     * @throws java.nio.file.FileAlreadyExistsException when it is a file
     */
    public static void createDirectories(Path directory) throws IOException {
        boolean posix = directory.getFileSystem().supportedFileAttributeViews().contains("posix");
        FileAttribute<?>[] attributes = posix
                ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(DIRECTORY)}
                : new FileAttribute<?>[0];
        Files.createDirectories(directory, attributes);
    }

    /**
     * Takes every right of others from {@code path}, a file or a directory that exists.
     *
     * @throws FileSystemException in one line, when others keep a right because another user owns it
     */
    public static void restrict(Path path) throws IOException {
        if (!Files.getFileStore(path).supportsFileAttributeView("posix")) {
            return;
        }
        Set<PosixFilePermission> now = Files.getPosixFilePermissions(path);
        if (now.stream().noneMatch(OTHERS::contains)) {
            return;
        }
        Set<PosixFilePermission> wanted = Files.isDirectory(path) ? DIRECTORY : FILE;
        try {
            Files.setPosixFilePermissions(path, wanted);
        } catch (IOException e) {
            FileSystemException refused = new FileSystemException(
                    path.toString(),
                    null,
                    "others may use it (" + PosixFilePermissions.toString(now)
                            + ") and it is not this user's to change; make it "
                            + PosixFilePermissions.toString(wanted));
            refused.initCause(e);
            throw refused;
        }
    }
}
