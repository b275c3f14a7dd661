package dev.palisade.guard.s3;

import dev.palisade.guard.Mark;
import java.io.ByteArrayInputStream;
import java.io.SequenceInputStream;
import java.util.Map;
import java.util.function.Consumer;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * What one guarded write is to leave in the store, without its mark: made once for a call, sent once for each try.
 * Immutable.
 *
 * @param users the user's request, without bucket, key and conditions
 * @param deleted whether it is a tombstone
 */
record ObjectWrite(PutObjectRequest users, RequestBody content, boolean deleted) {
    /** In place of a deleted object, and of one that was read and is not there. */
    static final ObjectWrite TOMBSTONE =
            new ObjectWrite(PutObjectRequest.builder().build(), RequestBody.empty(), true);

    /** @throws IllegalArgumentException for a request or a body that cannot be guarded */
    static ObjectWrite of(Consumer<PutObjectRequest.Builder> request, RequestBody content) {
        PutObjectRequest.Builder users = PutObjectRequest.builder();
        request.accept(users);
        PutObjectRequest built = users.build();
        Bucket.requireNothingOfOurs(built);
        if (content.optionalContentLength().isEmpty()) {
            throw new IllegalArgumentException(
                    "the length of the body is not known; nothing was sent: give a body of known length");
        }
        ObjectState.requireNoFence(built.metadata());
        return new ObjectWrite(built, content, false);
    }

    /** The object as it is, with the headers that a plain PUT can give it. */
    @SuppressWarnings("deprecation") // Of Expires, which S3 gives back as it came.
    static ObjectWrite again(ReadObject object, byte[] body) {
        GetObjectResponse is = object.response();
        PutObjectRequest users = PutObjectRequest.builder()
                .cacheControl(is.cacheControl())
                .contentDisposition(is.contentDisposition())
                .contentEncoding(is.contentEncoding())
                .contentLanguage(is.contentLanguage())
                .contentType(is.contentType())
                .expires(is.expires())
                .websiteRedirectLocation(is.websiteRedirectLocation())
                .storageClass(is.storageClass())
                .serverSideEncryption(is.serverSideEncryption())
                .ssekmsKeyId(is.ssekmsKeyId())
                .bucketKeyEnabled(is.bucketKeyEnabled())
                .metadata(ObjectState.withoutFence(is.metadata()))
                .build();
        return new ObjectWrite(
                users, RequestBody.fromBytes(body), object.state().deleted());
    }

    /** The request of one try, which is applied over the version {@code over} only. */
    PutObjectRequest request(String bucket, String key, ObjectState over, Mark mark, WriteId writeId) {
        Map<String, String> metadata = ObjectState.metadata(users.metadata(), mark, deleted, writeId);
        PutObjectRequest.Builder request =
                users.toBuilder().bucket(bucket).key(key).metadata(metadata);
        return (over.etag() == null ? request.ifNoneMatch("*") : request.ifMatch(over.etag())).build();
    }

    /** The body of one try. */
    RequestBody body(WriteId writeId) {
        byte[] trailer = writeId.trailer();
        return RequestBody.fromContentProvider(
                () -> new SequenceInputStream(
                        content.contentStreamProvider().newStream(), new ByteArrayInputStream(trailer)),
                content.optionalContentLength().orElseThrow() + trailer.length,
                content.contentType());
    }
}
