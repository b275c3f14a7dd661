package dev.palisade.examples;

import dev.palisade.contract.SignedSequencer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** The caller's half of the guide for REST: it takes {@code lease.sequencer()} along. */
final class RestCaller {
    private final HttpClient http = HttpClient.newHttpClient();

    // snippet
    HttpResponse<String> setStatus(URI order, String status, SignedSequencer sequencer)
            throws IOException, InterruptedException {
        HttpRequest request = HttpRequest.newBuilder(order)
                .header("Fencing-Sequencer", sequencer.toText())
                .PUT(BodyPublishers.ofString(status))
                .build();
        return http.send(request, BodyHandlers.ofString());
    }
    // end
}
