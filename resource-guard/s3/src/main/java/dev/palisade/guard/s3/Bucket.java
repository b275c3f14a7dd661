package dev.palisade.guard.s3;

import dev.palisade.contract.RejectedException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.SdkPojo;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * One bucket of the caller's client, as far as the fence reads it. Knows which failures mean what; a read applies
 * nothing, so none of them is unknown. Safe for use by many threads.
 */
record Bucket(S3Client client, String name) {
    /** What the members begin with that a user's request must not set. */
    private static final List<String> NOT_USERS = List.of(
            "ACL",
            "Bucket",
            "Checksum",
            "ContentLength",
            "ContentMD5",
            "Grant",
            "If",
            "Key",
            "ObjectLock",
            "SSECustomer",
            "SSEKMSEncryptionContext",
            "Tagging",
            "WriteOffsetBytes");

    /** A version of an object with its body open; the caller closes it. */
    record Opened(ObjectState state, ResponseInputStream<GetObjectResponse> body) {
        /** Length of the user's part, in bytes. */
        long length() {
            return body.response().contentLength() - state.trailerBytes();
        }
    }

    /** @throws RejectedException MARK_UNAVAILABLE or STORE_UNAVAILABLE */
    ObjectState head(String key) {
        Optional<HeadObjectResponse> found = found(
                key, () -> client.headObject(request -> request.bucket(name).key(key)));
        return found.map(head -> state(key, () -> ObjectState.of(head.eTag(), head.metadata())))
                .orElse(ObjectState.MISSING);
    }

    /** @throws RejectedException MARK_UNAVAILABLE or STORE_UNAVAILABLE */
    Optional<Opened> get(String key) {
        return found(key, () -> client.getObject(request -> request.bucket(name).key(key)))
                .map(body -> {
                    try {
                        GetObjectResponse response = body.response();
                        return new Opened(state(key, () -> ObjectState.of(response.eTag(), response.metadata())), body);
                    } catch (RejectedException e) {
                        body.abort();
                        throw e;
                    }
                });
    }

    private static ObjectState state(String key, Supplier<ObjectState> parse) {
        try {
            return parse.get();
        } catch (IllegalArgumentException | RejectedException e) {
            throw S3FenceRejections.damaged(key, e);
        }
    }

    private static <T> Optional<T> found(String key, Supplier<T> request) {
        try {
            return Optional.of(request.get());
        } catch (S3Exception e) {
            if (e.statusCode() == 404 && !isMissingBucket(e)) {
                return Optional.empty();
            }
            throw e.statusCode() < 500 ? S3FenceRejections.forbidden(key, e) : S3FenceRejections.unavailable(key, e);
        } catch (SdkException e) {
            throw S3FenceRejections.unavailable(key, e);
        }
    }

    /** A HEAD has no body, so it never says that; a PUT does. */
    static boolean isMissingBucket(S3Exception e) {
        return e.awsErrorDetails() != null
                && "NoSuchBucket".equals(e.awsErrorDetails().errorCode());
    }

    /**
     * Refuses what a user's request must leave to the fence, and what would be lost when a raised mark writes the
     * object again.
     *
     * @throws IllegalArgumentException naming the first such member
     */
    static void requireNothingOfOurs(SdkPojo request) {
        request.sdkFields().forEach(field -> {
            String member = field.memberName();
            boolean ours =
                    !member.equals("ChecksumAlgorithm") && NOT_USERS.stream().anyMatch(member::startsWith);
            if (ours && field.getValueOrDefault(request) != null) {
                throw new IllegalArgumentException("the request sets " + member
                        + ", which FencedS3 sets itself or cannot keep; nothing was sent: leave it out");
            }
        });
    }
}
