package dev.palisade.guard.s3;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Optional;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.http.AbortableInputStream;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/**
 * An object that a call reads, with its connection open: as the store has it, and as the user gets it. Used by one
 * thread.
 */
final class ReadObject {
    private final String key;
    private final Bucket.Opened opened;

    ReadObject(String key, Bucket.Opened opened) {
        this.key = key;
        this.opened = opened;
    }

    ObjectState state() {
        return opened.state();
    }

    GetObjectResponse response() {
        return opened.body().response();
    }

    void abort() {
        opened.body().abort();
    }

    /** What the user gets: empty for a tombstone, which is closed. */
    Optional<ResponseInputStream<GetObjectResponse>> content() {
        if (!state().isPresent()) {
            abort();
            return Optional.empty();
        }
        WriteId writeId = state().writeId();
        if (writeId == null) {
            return Optional.of(opened.body());
        }
        requireTrailer();
        ContentStream stream = new ContentStream(opened.body(), writeId, opened.length());
        return Optional.of(new ResponseInputStream<>(usersResponse(), AbortableInputStream.create(stream, stream)));
    }

    /** What the user gets of a body that was read already. */
    Optional<ResponseInputStream<GetObjectResponse>> content(byte[] body) {
        return state().isPresent()
                ? Optional.of(new ResponseInputStream<>(
                        usersResponse(), AbortableInputStream.create(new ByteArrayInputStream(body))))
                : Optional.empty();
    }

    /**
     * The user's part of the body, to be written again. Closes the connection.
     *
     * @throws IllegalStateException when it may not be
     * @throws IOException when it ends early, or is not the one of the metadata
     */
    byte[] bytes(long bytesMax) throws IOException {
        requireTrailer();
        if (opened.length() > bytesMax) {
            throw new IllegalStateException(
                    "object '" + key + "' has " + opened.length() + " bytes, and raising its mark"
                            + " writes it again, up to " + bytesMax
                            + "; nothing was applied: keep what is large in objects that"
                            + " never change and guard a small one that names them, or set withRewriteBytesMax");
        }
        Integer tags = response().tagCount();
        if (tags != null && tags > 0) {
            throw new IllegalStateException("object '" + key + "' has tags, which would be lost when raising its mark"
                    + " writes it again; nothing was applied: keep what they say in metadata");
        }
        WriteId writeId = state().writeId();
        try (ResponseInputStream<GetObjectResponse> body = opened.body()) {
            return writeId == null
                    ? body.readAllBytes()
                    : new ContentStream(body, writeId, opened.length()).readAllBytes();
        }
    }

    private void requireTrailer() {
        if (opened.length() < 0) {
            throw S3FenceRejections.unreadable(key, new IOException("the body has no trailer"));
        }
    }

    private GetObjectResponse usersResponse() {
        return response().toBuilder()
                .metadata(ObjectState.withoutFence(response().metadata()))
                .contentLength(opened.length())
                .build();
    }
}
