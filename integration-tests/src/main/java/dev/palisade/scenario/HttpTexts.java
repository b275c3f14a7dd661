package dev.palisade.scenario;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.client.Lease;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

/**
 * Texts of an HTTP service behind {@code palisade gateway}, in the words of {@link Actor}. A path is the name of its
 * lock. Never repeats a request.
 */
final class HttpTexts {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String gateway;
    private final String service;

    /** @param addresses of the gateway and of the service itself, with a comma between them */
    HttpTexts(String addresses) {
        String[] both = addresses.split(",", 2);
        gateway = both[0];
        service = both[1];
    }

    String read(Lease lease, String key) {
        return call(guarded(lease, key).GET(), "read " + lease.token() + " ");
    }

    /** What an onlooker reads, past the gateway. */
    String look(String key) {
        return call(HttpRequest.newBuilder(URI.create(service + "/" + key)), "read 0 ");
    }

    String write(Lease lease, String key, String text) {
        return call(guarded(lease, key).PUT(BodyPublishers.ofString(text)), "written ");
    }

    private HttpRequest.Builder guarded(Lease lease, String key) {
        return HttpRequest.newBuilder(URI.create(gateway + "/" + key))
                .header("Fencing-Sequencer", lease.sequencer().toText());
    }

    private String call(HttpRequest.Builder request, String good) {
        try {
            HttpResponse<String> response = http.send(request.timeout(TIMEOUT).build(), BodyHandlers.ofString());
            if (response.statusCode() == 200) {
                return good + response.body();
            }
            JsonObject problem = JsonParser.parseString(response.body()).getAsJsonObject();
            return "refused " + text(problem, "reason") + " presented=" + text(problem, "presented_token") + " mark="
                    + text(problem, "mark_token") + " applied=" + text(problem, "applied") + " "
                    + text(problem, "detail");
        } catch (IOException e) {
            return "unknown " + e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "unknown " + e;
        }
    }

    private static String text(JsonObject problem, String name) {
        return problem.has(name) ? problem.get(name).getAsString() : "";
    }
}
