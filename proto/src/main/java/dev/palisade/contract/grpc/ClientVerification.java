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
import java.util.Arrays;
import java.util.function.Supplier;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Certificate verification of the client of each call, by the authorities of that time. The handshake alone is not enough: a
 * resumed TLS session presents no certificate, and a client of an authority that was removed would come back with one.
 * Verifies a connection once for each set of authorities. Thread-safe.
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

    /** @param session of the connection; null: it has none */
    public boolean isVerified(@Nullable SSLSession session) {
        X509TrustManager current = verifier.get();
        if (current == null) {
            return true;
        }
        if (session == null) {
            return false;
        }
        if (session.getValue(VERIFIED_BY) == current) {
            return true;
        }
        Certificate[] presented;
        try {
            presented = session.getPeerCertificates();
        } catch (SSLPeerUnverifiedException e) {
            return required == ClientCertificates.OPTIONAL;
        }
        try {
            X509Certificate[] chain = Arrays.copyOf(presented, presented.length, X509Certificate[].class);
            current.checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
        } catch (CertificateException e) {
            return false;
        }
        session.putValue(VERIFIED_BY, current);
        return true;
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        if (isVerified(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION))) {
            return next.startCall(call, headers);
        }
        call.close(Status.UNAUTHENTICATED.withDescription(REFUSAL), new Metadata());
        return new ServerCall.Listener<>() {};
    }
}
