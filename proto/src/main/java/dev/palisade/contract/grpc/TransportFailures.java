package dev.palisade.contract.grpc;

import io.grpc.Status;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;

/** Causes of failed gRPC calls in plain words, without class names or system call names of the transport. */
public final class TransportFailures {
    private static final String REFUSED = "connection refused";

    /** Netty's {@code finishConnect(..) failed with error(-111): } before the operating system's words. */
    private static final Pattern SYSTEM_CALL = Pattern.compile("^[\\w:]+\\(\\.*\\) failed[^:]*: ");

    /** {@code : /127.0.0.1:1} and {@code : host/127.0.0.1:1} after them. */
    private static final Pattern ADDRESS = Pattern.compile(": [^\\s/]*/\\S+$");

    private TransportFailures() {}

    /** Such as {@code connection refused}, {@code unknown host locks}, {@code timed out}. One line. */
    public static String cause(Throwable failure) {
        Optional<Throwable> network = causes(failure)
                .filter(cause -> cause instanceof ConnectException
                        || cause instanceof NoRouteToHostException
                        || cause instanceof UnknownHostException)
                .findFirst();
        if (network.isPresent()) {
            return network(network.get());
        }
        Status status = Status.fromThrowable(failure);
        if (status.getCode() == Status.Code.UNAVAILABLE) {
            Optional<String> handshake = TlsFailures.cause(failure);
            if (handshake.isPresent()) {
                return handshake.get();
            }
        }
        String detail = detail(status);
        return switch (status.getCode()) {
            case DEADLINE_EXCEEDED -> "timed out";
            case UNIMPLEMENTED -> "it is not a lock server of this version";
            case INTERNAL, UNKNOWN ->
                "its reply cannot be read; it may not be a lock server" + (detail.isEmpty() ? "" : " (" + detail + ")");
            default -> status.getCode() + (detail.isEmpty() ? "" : " " + detail);
        };
    }

    /**
     * Whether the next attempt at once would fail in the same way: no process listens there, or one side rejected the other's
     * certificate.
     */
    public static boolean isLasting(Throwable failure) {
        boolean refused = causes(failure).anyMatch(cause -> cause instanceof ConnectException)
                && cause(failure).equals(REFUSED);
        return refused
                || (Status.fromThrowable(failure).getCode() == Status.Code.UNAVAILABLE
                        && TlsFailures.isRejection(failure));
    }

    private static String network(Throwable failure) {
        String message = String.valueOf(failure.getMessage());
        if (failure instanceof UnknownHostException) {
            return "unknown host " + message.split(":", 2)[0];
        }
        String words =
                ADDRESS.matcher(SYSTEM_CALL.matcher(message).replaceFirst("")).replaceFirst("");
        return words.contains("Connection refused") ? REFUSED : words.toLowerCase(Locale.ROOT);
    }

    private static String detail(Status status) {
        Throwable cause = status.getCause();
        if (cause instanceof SSLException && cause.getCause() != null) {
            cause = cause.getCause(); // It names the certificate; the TLS library's own words do not.
        }
        String detail = cause == null ? status.getDescription() : cause.getMessage();
        return detail == null ? "" : detail.lines().findFirst().orElse("");
    }

    private static Stream<Throwable> causes(Throwable failure) {
        return Stream.iterate(failure, cause -> cause != null, Throwable::getCause)
                .limit(20);
    }
}
