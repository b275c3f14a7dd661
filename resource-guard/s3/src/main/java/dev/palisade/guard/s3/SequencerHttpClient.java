package dev.palisade.guard.s3;

import dev.palisade.contract.SignedSequencer;
import java.util.function.Supplier;
import software.amazon.awssdk.http.ExecutableHttpRequest;
import software.amazon.awssdk.http.HttpExecuteRequest;
import software.amazon.awssdk.http.SdkHttpClient;

/**
 * An HTTP client of the AWS SDK that sends a lease's sequencer with each request, for a bucket behind a guard that
 * speaks S3. It adds the header after the request was signed: the guard takes it out again, which would break a
 * signature that covers it. An {@code ExecutionInterceptor} can only add what is signed. It guards nothing by itself.
 * Safe for use by many threads.
 */
public final class SequencerHttpClient implements SdkHttpClient {
    /** Name of the header. */
    public static final String HEADER = "Fencing-Sequencer";

    private final SdkHttpClient http;
    private final Supplier<SignedSequencer> sequencer;

    private SequencerHttpClient(SdkHttpClient http, Supplier<SignedSequencer> sequencer) {
        this.http = http;
        this.sequencer = sequencer;
    }

    /**
     * @param http sends the requests; may be shared by several of these
     * @param sequencer asked for each request, on the thread that sends it; what it throws ends the request, unsent
     */
    public static SequencerHttpClient create(SdkHttpClient http, Supplier<SignedSequencer> sequencer) {
        return new SequencerHttpClient(http, sequencer);
    }

    @Override
    public ExecutableHttpRequest prepareRequest(HttpExecuteRequest request) {
        String text = sequencer.get().toText();
        HttpExecuteRequest.Builder with = HttpExecuteRequest.builder()
                .request(request.httpRequest().toBuilder()
                        .putHeader(HEADER, text)
                        .build());
        request.contentStreamProvider().ifPresent(with::contentStreamProvider);
        request.metricCollector().ifPresent(with::metricCollector);
        return http.prepareRequest(with.build());
    }

    @Override
    public String clientName() {
        return http.clientName();
    }

    /** Closes the client that sends. */
    @Override
    public void close() {
        http.close();
    }
}
