package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Binding;
import dev.palisade.guard.s3.FencedS3;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/** The guarded read and write of the S3 guide. */
public final class GuardAnS3Write {
    private GuardAnS3Write() {}

    public static String run(S3Client client, Path keyset, SignedSequencer sequencer) throws IOException {
        // snippet
        FencedS3 fenced =
                FencedS3.open(client, "orders", KeysetFile.open(keyset).verifier("palisade"));
        Binding order = Binding.of("orders/42");
        String before = "";
        Optional<ResponseInputStream<GetObjectResponse>> found = fenced.read(sequencer, order);
        if (found.isPresent()) {
            try (ResponseInputStream<GetObjectResponse> body = found.get()) {
                before = new String(body.readAllBytes(), StandardCharsets.UTF_8);
            }
        }
        fenced.write(
                sequencer,
                order,
                request -> request.contentType("application/json"),
                RequestBody.fromString("{\"status\": \"paid\"}"));
        // end
        return before;
    }
}
