package dev.palisade.contract.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Status;
import java.io.IOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;

class TransportFailuresTest {
    private static Throwable unavailable(Throwable cause) {
        return Status.UNAVAILABLE
                .withDescription("io exception")
                .withCause(cause)
                .asRuntimeException();
    }

    @Test
    void refusedConnectionIsNamedWithoutSystemCallOrAddress() {
        Throwable epoll = unavailable(
                new ConnectException("finishConnect(..) failed with error(-111): Connection refused: /127.0.0.1:1"));
        assertThat(TransportFailures.cause(epoll)).isEqualTo("connection refused");
        assertThat(TransportFailures.isLasting(epoll)).isTrue();
        Throwable nio = unavailable(new ConnectException("Connection refused: locks/10.0.0.1:7600"));
        assertThat(TransportFailures.cause(nio)).isEqualTo("connection refused");
        Throwable other = unavailable(
                new ConnectException("connect(..) failed with error(-101): Network is unreachable: /10.0.0.1:7600"));
        assertThat(TransportFailures.cause(other)).isEqualTo("network is unreachable");
        assertThat(TransportFailures.isLasting(other)).isFalse();
    }

    @Test
    void addressThatCannotBeReachedIsNamed() {
        assertThat(TransportFailures.cause(unavailable(
                        new RuntimeException(new UnknownHostException("no-such-host: Name or service not known")))))
                .isEqualTo("unknown host no-such-host");
        assertThat(TransportFailures.cause(unavailable(new NoRouteToHostException("No route to host: /10.0.0.1:1"))))
                .isEqualTo("no route to host");
    }

    @Test
    void expiredCertificateThatTheOtherSideNamesIsNamed() {
        assertThat(TransportFailures.cause(
                        unavailable(new SSLHandshakeException("Received fatal alert: certificate_expired"))))
                .contains("it says that the certificate that it was shown has expired");
    }

    @Test
    void otherFailuresAreOneLine() {
        assertThat(TransportFailures.cause(Status.DEADLINE_EXCEEDED.asRuntimeException()))
                .isEqualTo("timed out");
        assertThat(TransportFailures.cause(Status.UNIMPLEMENTED.asRuntimeException()))
                .isEqualTo("it is not a lock server of this version");
        assertThat(TransportFailures.cause(
                        Status.INTERNAL.withDescription("http2 exception\nmore").asRuntimeException()))
                .isEqualTo("its reply cannot be read; it may not be a lock server (http2 exception)");
        assertThat(TransportFailures.cause(unavailable(new IOException("Connection reset by peer"))))
                .isEqualTo("UNAVAILABLE Connection reset by peer");
        assertThat(TransportFailures.cause(unavailable(new IOException("Connection reset"))))
                .isEqualTo("it closed the connection; if it listens with TLS, call it with TLS");
    }

    @Test
    void failedHandshakesAreInPlainWords() {
        assertThat(TransportFailures.cause(unavailable(new SSLHandshakeException("PKIX path building failed: x.Y:"
                        + " unable to find valid certification path to requested target"))))
                .isEqualTo(
                        "its certificate was issued by an authority that is not trusted here; name the authority's file");
        assertThat(TransportFailures.cause(unavailable(new SSLHandshakeException("General OpenSslEngine problem")
                        .initCause(new CertificateException("No subject alternative DNS name matching a found.")))))
                .isEqualTo("its certificate is for another host name than the one that was called");
        assertThat(TransportFailures.cause(
                        unavailable(new SSLException("error:10000412:SSL routines:SSLV3_ALERT_BAD_CERTIFICATE"))))
                .isEqualTo("it wants a client certificate of an authority that it trusts");
        assertThat(TransportFailures.cause(Status.UNAVAILABLE
                        .withDescription("Network closed for unknown reason")
                        .asRuntimeException()))
                .isEqualTo("it closed the connection; if it listens with TLS, call it with TLS");
    }

    @Test
    void rejectedHandshakeIsLastingAndAClosedConnectionIsNot() {
        Throwable rejected = unavailable(
                new SSLHandshakeException("PKIX: unable to find valid certification path to requested target"));
        assertThat(TransportFailures.isLasting(rejected)).isTrue();
        Throwable closed = Status.UNAVAILABLE
                .withDescription("Network closed for unknown reason")
                .asRuntimeException();
        assertThat(TransportFailures.isLasting(closed)).isFalse();
        assertThat(TransportFailures.isLasting(
                        Status.CANCELLED.withDescription("NotAfter: x").asRuntimeException()))
                .isFalse();
    }
}
