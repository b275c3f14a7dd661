package dev.palisade.guard.s3;

import com.adobe.testing.s3mock.S3MockApplication;
import java.net.URI;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.RetryStrategy;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3ClientBuilder;
import software.amazon.awssdk.services.s3.model.BucketVersioningStatus;

/**
 * One S3Mock for all tests of this JVM, which is slow to start. It checks no signature, and it compares and writes in
 * two steps: a race between conditional writes can have several winners.
 */
final class TestS3 {
    private static final S3MockApplication SERVER = S3MockApplication.start(
            // It takes entries out of the map.
            new HashMap<>(Map.of(
                    "server.port",
                    "0",
                    "http.port",
                    "0",
                    "server.shutdown",
                    "immediate",
                    S3MockApplication.PROP_SILENT,
                    true)));

    /** A client of S3Mock as users have it, with the SDK's own retries. */
    static final S3Client CLIENT = client(UrlConnectionHttpClient.create(), AwsRetryStrategy.standardRetryStrategy());

    private TestS3() {}

    @SuppressWarnings("deprecation") // Its other port is HTTPS.
    static URI endpoint() {
        return URI.create("http://127.0.0.1:" + SERVER.getHttpPort());
    }

    static S3Client client(SdkHttpClient http, RetryStrategy retries) {
        return builder(endpoint(), "any", "any")
                .httpClient(http)
                .overrideConfiguration(options -> options.retryStrategy(retries))
                .build();
    }

    static S3ClientBuilder builder(URI endpoint, String user, String secret) {
        return S3Client.builder()
                .endpointOverride(endpoint)
                .forcePathStyle(true)
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(user, secret)));
    }

    static RetryStrategy once() {
        return AwsRetryStrategy.doNotRetry();
    }

    /** In it S3Mock replaces no files, so a read never meets the data of another write than its metadata. */
    static String newVersionedBucket() {
        String name = newBucket();
        CLIENT.putBucketVersioning(request -> request.bucket(name)
                .versioningConfiguration(versioning -> versioning.status(BucketVersioningStatus.ENABLED)));
        return name;
    }

    static String newBucket() {
        String name = "b" + UUID.randomUUID();
        CLIENT.createBucket(request -> request.bucket(name));
        return name;
    }
}
