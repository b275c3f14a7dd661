package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.s3.SequencerHttpClient;
import java.net.URI;
import java.util.function.Supplier;
import software.amazon.awssdk.http.SdkHttpClient;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.services.s3.S3Client;

/** The client of the S3 guide that sends its sequencer in a header. */
public final class SendASequencerToS3 {
    private SendASequencerToS3() {}

    public static S3Client client(URI gateway, Supplier<SignedSequencer> sequencer) {
        // snippet
        SdkHttpClient http = SequencerHttpClient.create(UrlConnectionHttpClient.create(), sequencer);
        S3Client client = S3Client.builder()
                .httpClient(http)
                .endpointOverride(gateway)
                .forcePathStyle(true)
                .build();
        // end
        return client;
    }
}
