package dev.palisade.guard.s3;

import dev.palisade.contract.GrantId;
import dev.palisade.guard.Mark;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One version of an object: its ETag, and what its metadata say of the fence. Written only over the version that was
 * compared, so it is the fence's row. Pure.
 *
 * @param etag of this version; null: there is no object
 * @param mark {@link Mark#NONE} of a missing object, and of one that FencedS3 never wrote
 * @param deleted a tombstone: an empty object that keeps the mark of a deleted one
 * @param writeId of the write that made it; null of an object that FencedS3 did not write
 */
record ObjectState(
        @Nullable String etag,
        Mark mark,
        boolean deleted,
        @Nullable WriteId writeId) {
    /** What the names of the fence's own metadata begin with, after {@code x-amz-meta-}. */
    static final String PREFIX = "palisade-";

    static final ObjectState MISSING = new ObjectState(null, Mark.NONE, false, null);

    private static final String TOKEN = PREFIX + "token";
    private static final String GRANT = PREFIX + "grant";
    private static final String SHARED_TOKEN = PREFIX + "shared-token";
    private static final String DELETED = PREFIX + "deleted";
    private static final String WRITE_ID = PREFIX + "write-id";

    /** @throws IllegalArgumentException when the metadata are not those that {@link #metadata} writes */
    static ObjectState of(@Nullable String etag, Map<String, String> metadata) {
        Map<String, String> fence = new TreeMap<>();
        metadata.forEach((name, value) -> fence.put(name.toLowerCase(Locale.ROOT), value));
        String writeId = fence.get(WRITE_ID);
        if (etag == null || etag.isEmpty()) {
            throw new IllegalArgumentException("the store gave no ETag");
        }
        if (writeId == null) {
            if (hasFence(fence)) {
                throw new IllegalArgumentException("no " + WRITE_ID);
            }
            return new ObjectState(etag, Mark.NONE, false, null);
        }
        Mark mark = new Mark(
                Long.parseLong(fence.getOrDefault(TOKEN, "0")),
                Optional.ofNullable(fence.get(GRANT))
                        .map(hex -> GrantId.of(HexFormat.of().parseHex(hex)))
                        .orElse(null),
                Long.parseLong(fence.getOrDefault(SHARED_TOKEN, "0")));
        if (mark.equals(Mark.NONE)) {
            throw new IllegalArgumentException("no token");
        }
        return new ObjectState(etag, mark, fence.containsKey(DELETED), new WriteId(writeId));
    }

    private static boolean hasFence(Map<String, String> metadata) {
        return metadata.keySet().stream().anyMatch(name -> name.startsWith(PREFIX));
    }

    /** Whether a reader finds something. */
    boolean isPresent() {
        return etag != null && !deleted;
    }

    /** Whether it ends with a trailer. */
    int trailerBytes() {
        return writeId == null ? 0 : WriteId.TRAILER_BYTES;
    }

    /** @throws IllegalArgumentException when a name begins with {@link #PREFIX} */
    static void requireNoFence(Map<String, String> users) {
        for (String name : users.keySet()) {
            if (name.toLowerCase(Locale.ROOT).startsWith(PREFIX)) {
                throw new IllegalArgumentException("metadata '" + name + "' is FencedS3's own; nothing was sent: choose"
                        + " a name that does not begin with " + PREFIX);
            }
        }
    }

    /**
     * The metadata of an object to be written.
     *
     * @param users the user's own
     */
    static Map<String, String> metadata(Map<String, String> users, Mark mark, boolean deleted, WriteId writeId) {
        Map<String, String> all = new LinkedHashMap<>(users);
        GrantId grant = mark.exclusiveGrant();
        if (grant != null) {
            all.put(TOKEN, Long.toString(mark.exclusiveToken()));
            all.put(GRANT, grant.toString());
        }
        if (mark.sharedToken() > 0) {
            all.put(SHARED_TOKEN, Long.toString(mark.sharedToken()));
        }
        if (deleted) {
            all.put(DELETED, "yes");
        }
        all.put(WRITE_ID, writeId.hex());
        return all;
    }

    /** The user's part of an object's metadata. */
    static Map<String, String> withoutFence(Map<String, String> metadata) {
        Map<String, String> users = new LinkedHashMap<>(metadata);
        users.keySet().removeIf(name -> name.toLowerCase(Locale.ROOT).startsWith(PREFIX));
        return users;
    }
}
