package dev.palisade.contract.grpc;

import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Certificate verification of the client of each call, by the authorities of that time. The handshake alone is not enough: a
 * resumed TLS session presents no certificate, and a client of an authority that was removed would come back with one.
 * So does an open connection beyond the certificate's end. Verifies a connection once for each set of authorities. Thread-safe.
 */
public final class ClientVerification implements ServerInterceptor {
    private static final String VERIFIED_BY = "dev.palisade.verified-by";

    /** Description of the status that refuses an unverified client's call. */
    public static final String REFUSAL =
            "the client's certificate was not issued by an authority that the server trusts now";

    private final Supplier<@Nullable X509TrustManager> verifier;

    private final ClientCertificates required;

    /**
     * @param verifier of this moment; null when certificates are not verified
     * @param required whether a client without one is refused
     */
    ClientVerification(Supplier<@Nullable X509TrustManager> verifier, ClientCertificates required) {
        this.verifier = verifier;
        this.required = required;
    }

    private record Verified(X509TrustManager by, Instant until) {}

    /** {@link #refusal(SSLSession, Instant)} of now. */
    public Optional<String> refusal(@Nullable SSLSession session) {
        return refusal(session, Instant.now());
    }

    /**
     * Why the client of a connection is refused; empty if it is verified.
     *
     * @param session of the connection; null: it has none
     */
    public Optional<String> refusal(@Nullable SSLSession session, Instant now) {
        X509TrustManager current = verifier.get();
        if (current == null) {
            return Optional.empty();
        }
        if (session == null) {
            return Optional.of(REFUSAL);
        }
        if (session.getValue(VERIFIED_BY) instanceof Verified verified
                && verified.by() == current
                && now.isBefore(verified.until())) {
            return Optional.empty();
        }
        Certificate[] presented;
        try {
            presented = session.getPeerCertificates();
        } catch (SSLPeerUnverifiedException e) {
            return required == ClientCertificates.OPTIONAL ? Optional.empty() : Optional.of(REFUSAL);
        }
        X509Certificate[] chain = Arrays.copyOf(presented, presented.length, X509Certificate[].class);
        Instant until = Stream.of(chain)
                .map(certificate -> certificate.getNotAfter().toInstant())
                .min(Comparator.naturalOrder())
                .orElseThrow();
        if (!now.isBefore(until)) {
            return Optional.of("the client's certificate expired at " + until + "; connect again with a new one");
        }
        try {
            current.checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
        } catch (CertificateException e) {
            return Optional.of(REFUSAL);
        }
        session.putValue(VERIFIED_BY, new Verified(current, until));
        return Optional.empty();
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        Optional<String> refusal = refusal(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
        if (refusal.isEmpty()) {
            return next.startCall(call, headers);
        }
        call.close(Status.UNAUTHENTICATED.withDescription(refusal.get()), new Metadata());
        return new ServerCall.Listener<>() {};
    }
}
