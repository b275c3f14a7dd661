package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.nio.file.Path;
import java.util.List;

/** The marks in a directory of {@link MarkStore#file}, for checkers. */
public final class MarkFiles {
    private MarkFiles() {}

    /** @param directory a copy of a guard's, which this opens and so changes */
    public static List<StoredMark> marks(Path directory) {
        try (MarkStore store = MarkStore.file(directory)) {
            return store.open().marks();
        }
    }
}
