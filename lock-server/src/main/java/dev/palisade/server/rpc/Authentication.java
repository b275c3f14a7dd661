package dev.palisade.server.rpc;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.ClientVerification;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.JwtAuthenticator;
import dev.palisade.server.access.JwtIdentity;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import dev.palisade.server.engine.RejectionCounts;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Authentication of each call: by its bearer token, else by the client's certificate, which the TLS layer has verified. A call with
 * neither is refused; so is a call with a wrong token, whatever its certificate. Refusals are events, so many a second, and never
 * repeat what was presented. A call with a JWT that was not verified before waits for that on no thread. Thread-safe.
 *
 * @param certificates verifies them by the authorities of now, also in a resumed TLS session; null: there are none
 */
public record Authentication(
        AccessControl access, @Nullable ClientVerification certificates, EventLog events, RejectionCounts rejections)
        implements ServerInterceptor {
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private static final String SCHEME = "bearer ";
    private static final int DNS_NAME = 2;
    private static final int URI = 6;
    private static final int NETWORK_BYTES = 8;

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        SSLSession session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
        SocketAddress peer = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
        Iterable<String> presented = headers.getAll(AUTHORIZATION);
        Context context = Context.current();
        CompletableFuture<Caller> caller;
        try {
            caller = caller(presented, session, peer, JwtAuthenticator::authenticate);
        } catch (RejectedException e) {
            return refuse(e.rejection(), peer, call);
        }
        if (caller.isDone()) {
            return start(caller, context, call, headers, next);
        }
        PendingCallListener<Q> pending = new PendingCallListener<>();
        var unused = caller.whenComplete(
                (verified, failure) -> pending.handler(start(caller, context, call, headers, next)));
        return pending;
    }

    private <Q, R> ServerCall.Listener<Q> start(
            CompletableFuture<Caller> caller,
            Context context,
            ServerCall<Q, R> call,
            Metadata headers,
            ServerCallHandler<Q, R> next) {
        Caller verified;
        try {
            verified = caller.join();
        } catch (CompletionException e) {
            Rejection rejection = e.getCause() instanceof RejectedException refused
                    ? refused.rejection()
                    : refused("the token cannot be verified").rejection();
            return refuse(rejection, call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR), call);
        }
        Caller known = verified.from(call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR));
        return Contexts.interceptCall(context.withValue(Caller.KEY, known), call, headers, next);
    }

    private <Q, R> ServerCall.Listener<Q> refuse(
            Rejection rejection, @Nullable SocketAddress peer, ServerCall<Q, R> call) {
        refuse(rejection, peer);
        StatusRuntimeException refused = Rejections.toStatus(rejection);
        Metadata trailers = Status.trailersFromThrowable(refused);
        call.close(refused.getStatus(), trailers == null ? new Metadata() : trailers);
        return new ServerCall.Listener<>() {};
    }

    /** Whether a request of another transport shows neither a token nor a client certificate. */
    static boolean isAnonymous(@Nullable Iterable<String> presented, @Nullable SSLSession session) {
        return presented == null && (session == null || certificate(session) == null);
    }

    /**
     * The sender of a request of another transport. A JWT is verified on this thread.
     *
     * @param presented values of its header authorization; null if it has none
     * @throws RejectedException UNAUTHENTICATED
     */
    Caller authenticate(
            @Nullable Iterable<String> presented, @Nullable SSLSession session, @Nullable SocketAddress peer) {
        try {
            return callerNow(presented, session, peer).from(peer);
        } catch (RejectedException e) {
            refuse(e.rejection(), peer);
            throw e;
        }
    }

    /**
     * Lets a request of another transport pass if its sender may operate the server. A JWT is verified on the caller's thread.
     *
     * @param presented values of its header authorization; null if it has none
     * @throws RejectedException UNAUTHENTICATED, PERMISSION_DENIED
     */
    public void requireOperator(
            @Nullable Iterable<String> presented, @Nullable SSLSession session, @Nullable SocketAddress peer) {
        try {
            callerNow(presented, session, peer).require(StoreRequest.getDefaultInstance());
        } catch (RejectedException e) {
            refuse(e.rejection(), peer);
            throw e;
        }
    }

    private void refuse(Rejection rejection, @Nullable SocketAddress peer) {
        rejections.count(rejection);
        events.refused(rejection, "peer", String.valueOf(peer));
    }

    private Caller callerNow(
            @Nullable Iterable<String> presented, @Nullable SSLSession session, @Nullable SocketAddress peer) {
        return caller(
                        presented,
                        session,
                        peer,
                        (jwts, token, address) ->
                                CompletableFuture.completedFuture(jwts.authenticateNow(token, address)))
                .join();
    }

    private CompletableFuture<Caller> caller(
            @Nullable Iterable<String> presented,
            @Nullable SSLSession session,
            @Nullable SocketAddress peer,
            ByJwt byJwt) {
        if (presented == null) {
            return CompletableFuture.completedFuture(byCertificate(session));
        }
        String token = token(presented.iterator(), session, peer);
        JwtAuthenticator jwts = access.jwts();
        return jwts == null || token.startsWith(UserTokens.PREFIX)
                ? CompletableFuture.completedFuture(byToken(token))
                : byJwt.identity(jwts, token, share(peer)).thenApply(identity -> Caller.ofJwt(identity, access));
    }

    /** Verification of a JWT from an address. */
    @FunctionalInterface
    private interface ByJwt {
        CompletableFuture<JwtIdentity> identity(JwtAuthenticator jwts, String token, String address);
    }

    /** Of IPv6 the network, whose addresses one client can have. */
    static String share(@Nullable SocketAddress peer) {
        if (!(peer instanceof InetSocketAddress inet) || inet.getAddress() == null) {
            return "";
        }
        byte[] address = inet.getAddress().getAddress();
        return HexFormat.of().formatHex(address, 0, Math.min(address.length, NETWORK_BYTES));
    }

    private static String token(
            Iterator<String> presented, @Nullable SSLSession session, @Nullable SocketAddress peer) {
        String authorization = presented.next();
        if (session == null && !isLoopback(peer)) {
            throw refused("a token came from another machine without TLS, where others can read it; replace the token,"
                    + " and call with TLS");
        }
        if (presented.hasNext() || !authorization.toLowerCase(Locale.ROOT).startsWith(SCHEME)) {
            throw refused("the header authorization is not one bearer token; send \"Bearer TOKEN\" once");
        }
        return authorization.substring(SCHEME.length()).strip();
    }

    private Caller byToken(String token) {
        return access.userOf(token)
                .map(user -> Caller.ofToken(user, access))
                .orElseThrow(
                        () -> refused("the token is not one of a user of this lock server; check the token file, or "
                                + access.advice()));
    }

    private Caller byCertificate(@Nullable SSLSession session) {
        X509Certificate certificate = session == null ? null : certificate(session);
        if (certificate == null) {
            throw refused("the call has neither a token nor a client certificate; " + access.advice());
        }
        if (certificates != null) {
            Optional<String> refusal = certificates.refusal(session);
            if (refusal.isPresent()) {
                throw refused(refusal.get());
            }
        }
        return principal(certificate)
                .map(name -> Caller.ofCertificate(name, access))
                .orElseThrow(() -> refused("the client's certificate has no subject alternative name of a URI or a"
                        + " host, so it names no client"));
    }

    private static @Nullable X509Certificate certificate(SSLSession session) {
        try {
            return session.getPeerCertificates()[0] instanceof X509Certificate certificate ? certificate : null;
        } catch (SSLPeerUnverifiedException e) {
            return null;
        }
    }

    /** The first URI among the subject alternative names, as SPIFFE has it; else the first DNS name. */
    static Optional<String> principal(X509Certificate certificate) {
        Collection<List<?>> names;
        try {
            names = certificate.getSubjectAlternativeNames();
        } catch (CertificateParsingException e) {
            return Optional.empty();
        }
        if (names == null) {
            return Optional.empty();
        }
        Stream<String> uris = of(names, URI).map(uri -> "uri:" + uri);
        Stream<String> hosts = of(names, DNS_NAME).map(host -> "dns:" + host.toLowerCase(Locale.ROOT));
        return Stream.concat(uris, hosts).findFirst().filter(Policy::isPrincipal);
    }

    private static Stream<String> of(Iterable<List<?>> names, int kind) {
        return StreamSupport.stream(names.spliterator(), false)
                .filter(name -> Integer.valueOf(kind).equals(name.get(0)))
                .map(name -> String.valueOf(name.get(1)));
    }

    private static boolean isLoopback(@Nullable SocketAddress peer) {
        return peer != null
                && (!(peer instanceof InetSocketAddress inet)
                        || (inet.getAddress() != null && inet.getAddress().isLoopbackAddress()));
    }

    private static RejectedException refused(String message) {
        return new Rejection(Reason.UNAUTHENTICATED, message)
                .with(Rejection.APPLIED, "no")
                .asException();
    }
}
