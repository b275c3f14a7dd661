package dev.palisade.guard.s3;

import java.util.Map;
import java.util.function.Consumer;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * The start-up check of a store: some accept {@code If-Match} and {@code If-None-Match} and ignore them, and then
 * nothing would be guarded. Writes an object of its own and removes it. It cannot see whether the store keeps to
 * conditions in a race.
 */
final class BucketProbe {
    static final String PREFIX = "palisade-probe/";

    /** Of the whole check, when the SDK sent a write twice and so refused its own first one. */
    private static final int RUNS_MAX = 5;

    private final S3Client client;
    private final String bucket;
    private String key = newKey();

    BucketProbe(S3Client client, String bucket) {
        this.client = client;
        this.bucket = bucket;
    }

    private static String newKey() {
        return PREFIX + WriteId.random();
    }

    /** @throws IllegalStateException when the store ignores a condition, loses metadata, or cannot be tried */
    void run() {
        for (int run = 1; !check(run == RUNS_MAX); run++) {
            key = newKey();
        }
    }

    /** @return false: it has to be run again */
    private boolean check(boolean isLast) {
        try {
            String first = put(WriteId.random(), request -> request.ifNoneMatch("*"));
            requireRefused("If-None-Match", request -> request.ifNoneMatch("*"));
            WriteId writeId = WriteId.random();
            String second = put(writeId, request -> request.ifMatch(first));
            if (second.equals(first)) {
                throw unusable("gives two different bodies the same ETag");
            }
            requireRefused("If-Match", request -> request.ifMatch(first));
            requireMetadata(writeId);
            return true;
        } catch (SdkException e) {
            Integer attempts = e.numAttempts();
            if (!isLast && attempts != null && attempts > 1 && isRefused(e)) {
                return false;
            }
            throw new IllegalStateException(
                    "bucket '" + bucket + "' cannot be tried (" + e.getMessage()
                            + "): the user needs s3:GetObject, s3:PutObject and s3:DeleteObject on " + PREFIX + "*",
                    e);
        } finally {
            remove();
        }
    }

    private static boolean isRefused(SdkException e) {
        return e instanceof S3Exception reply && reply.statusCode() == FencedCall.PRECONDITION_FAILED;
    }

    private String put(WriteId writeId, Consumer<PutObjectRequest.Builder> condition) {
        PutObjectRequest.Builder request =
                PutObjectRequest.builder().bucket(bucket).key(key).metadata(Map.of("palisade-write-id", writeId.hex()));
        condition.accept(request);
        return client.putObject(request.build(), RequestBody.fromBytes(writeId.trailer()))
                .eTag();
    }

    private void requireRefused(String condition, Consumer<PutObjectRequest.Builder> set) {
        try {
            put(WriteId.random(), set);
        } catch (S3Exception e) {
            if (isRefused(e)) {
                return;
            }
            throw e;
        }
        throw unusable("ignores " + condition + ": it wrote over an object against the condition");
    }

    private void requireMetadata(WriteId writeId) {
        Map<String, String> metadata =
                client.headObject(request -> request.bucket(bucket).key(key)).metadata();
        if (!writeId.hex().equals(metadata.get("palisade-write-id"))) {
            throw unusable("does not give metadata back as they were written");
        }
    }

    private IllegalStateException unusable(String why) {
        return new IllegalStateException("the store of bucket '" + bucket + "' " + why
                + "; nothing can be guarded there: use one with conditional writes");
    }

    private void remove() {
        try {
            client.deleteObject(request -> request.bucket(bucket).key(key));
        } catch (SdkException e) {
            System.getLogger("dev.palisade.guard.s3")
                    .log(
                            System.Logger.Level.WARNING,
                            "object '" + key + "' of the start-up check stays in bucket '" + bucket + "' ("
                                    + e.getMessage() + "): remove it");
        }
    }
}
