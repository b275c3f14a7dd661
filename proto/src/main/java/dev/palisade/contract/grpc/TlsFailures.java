package dev.palisade.contract.grpc;

import io.grpc.Status;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Causes of failed TLS handshakes in plain words. TLS libraries name them by alerts and by classes of their own. */
final class TlsFailures {
    /** Also what a server does that stops just then. */
    private static final String CLOSED = "it closed the connection; if it listens with TLS, call it with TLS";

    /** The first that is found counts. */
    private static final Map<Pattern, String> WORDS = words();

    private TlsFailures() {}

    private static Map<Pattern, String> words() {
        Map<Pattern, String> words = new LinkedHashMap<>();
        words.put(
                Pattern.compile("unable to find valid certification path"),
                "its certificate was issued by an authority that is not trusted here; name the authority's file");
        words.put(
                Pattern.compile("No subject alternative|No name matching"),
                "its certificate is for another host name than the one that was called");
        words.put(Pattern.compile("NotAfter:"), "its certificate has expired");
        words.put(
                Pattern.compile("(?i)certificate_expired"),
                "it says that the certificate that it was shown has expired");
        words.put(
                Pattern.compile("(?i)bad_certificate|certificate_required|unknown_ca|certificate_unknown"),
                "it wants a client certificate of an authority that it trusts");
        words.put(Pattern.compile("NotSslRecordException|not an SSL/TLS record"), "it does not listen with TLS");
        words.put(Pattern.compile("Network closed for unknown reason|Connection reset(?! by peer)"), CLOSED);
        return words;
    }

    static Optional<String> cause(Throwable failure) {
        String all = Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
                        .limit(20)
                        .map(Throwable::toString)
                        .collect(Collectors.joining("\n"))
                + Status.fromThrowable(failure).getDescription();
        return WORDS.entrySet().stream()
                .filter(entry -> entry.getKey().matcher(all).find())
                .map(Map.Entry::getValue)
                .findFirst();
    }

    /** Whether one side rejected the other in the handshake: it will again, until files are changed. */
    static boolean isRejection(Throwable failure) {
        return cause(failure).filter(words -> !words.equals(CLOSED)).isPresent();
    }
}
