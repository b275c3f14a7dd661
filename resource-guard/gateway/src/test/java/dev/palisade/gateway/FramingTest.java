package dev.palisade.gateway;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes that two servers may read differently, on a socket of the test's own. Nothing of them reaches the service. */
class FramingTest {
    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    static Path directory;

    private static PlainService service;
    private static GatewayFixture gateway;

    @BeforeAll
    static void start() {
        service = new PlainService();
        gateway = new GatewayFixture(directory, service);
    }

    @BeforeEach
    void forget() {
        service.begun.clear();
        service.headers.clear();
        service.applied.clear();
        service.trailers.clear();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        service.close();
    }

    /** Returns the first line of the answer. */
    private static String send(String request) throws IOException {
        try (Socket socket = gateway.connect()) {
            socket.getOutputStream()
                    .write(request.replace("\n", "\r\n")
                            .replace("SEQUENCER", "Fencing-Sequencer: " + gateway.locks.exclusive("items/1", 7))
                            .getBytes(US_ASCII));
            String head = OutcomeTest.head(socket.getInputStream());
            return head.lines().findFirst().orElse("");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: chunked\nContent-Length: 4\n\n0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 4\nContent-Length: 5\n\nabcd",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 4, 5\n\nabcd",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: -1\n\nabcd",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: +4\n\nabcd",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: xchunked\n\n0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length : 4\n\nabcd",
                "PUT /items/%2e%2e/items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /other/../items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/%2e HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/. HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1;v=1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items%2F1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT //items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1%00 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items\\1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/%2531 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /any/items/1/ HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /any/palisade/guards/items HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nhost: shop.example\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x, shop.example\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: shop.example@x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost:\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT http://shop.example/items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: Host\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: close, Content-Length\nContent-Length: 4\n\nabcd",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: close\nConnection: Fencing-Sequencer\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: fencing_sequencer\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: :path\nContent-Length: 0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nConnection: transfer-encoding\nTransfer-Encoding: chunked\n\n0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: gzip\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: chunked, gzip\n\n0\n\n",
                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n",
            })
    void ambiguousRequestIsRefused(String request) throws Exception {
        assertThat(send(request)).startsWith("HTTP/1.1 400 ");
        assertThat(service.begun).isEmpty();
    }

    private String wholeReply(String request) throws Exception {
        try (Socket socket = gateway.connect()) {
            String sequencer = "Fencing-Sequencer: " + gateway.locks.exclusive("items/1", 7);
            socket.getOutputStream()
                    .write(request.replace("SEQUENCER", sequencer)
                            .replace("\n", "\r\n")
                            .getBytes(US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), US_ASCII);
        }
    }

    @Test
    void otherVersionOfHttp1IsRefused() throws Exception {
        assertThat(wholeReply("PUT /items/1 HTTP/1.2\nHost: x\nSEQUENCER\nContent-Length: 0\n\n"))
                .startsWith("HTTP/1.1 505 ")
                .contains("MALFORMED_REQUEST", "send it as HTTP/1.1; nothing was forwarded");
        assertThat(service.begun).isEmpty();
    }

    @Test
    void requestThatCannotBeDecodedIsRefusedInWords() throws Exception {
        assertThat(wholeReply("PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: two\n\n"))
                .startsWith("HTTP/1.1 400 ")
                .contains("is no HTTP/1.1, or too long; nothing was forwarded")
                .doesNotContain("Decoder failure");
    }

    @Test
    void connectAndUpgradesAreRefused() throws Exception {
        assertThat(send("CONNECT items:80 HTTP/1.1\nHost: items:80\n\n")).contains(" 40");
        assertThat(send("""
                        GET /items/1 HTTP/1.1
                        Host: x
                        SEQUENCER
                        Connection: Upgrade
                        Upgrade: websocket
                        Sec-WebSocket-Version: 13
                        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==

                        """)).startsWith("HTTP/1.1 400 ");
        assertThat(service.begun).isEmpty();
    }

    /** Refused at its head: to say that it may be applied would make its client look for nothing. */
    @ParameterizedTest
    @CsvSource({
        "PROPFIND, X: x, 405",
        "REPORT, X: x, 405",
        "put, X: x, 405",
        "PUT, Expect: x, 417",
        "CONNECT, X: x, 405"
    })
    void methodOrExpectationThatIsNotKnownIsNotApplied(String method, String header, String status) throws Exception {
        assertThat(wholeReply(method + " /items/1 HTTP/1.1\nHost: x\nSEQUENCER\n" + header
                        + "\nConnection: close\nContent-Length: 0\n\n"))
                .startsWith("HTTP/1.1 " + status + " ")
                .contains("\"reason\":\"MALFORMED_REQUEST\"", "\"applied\":\"no\"", "nothing was forwarded");
        assertThat(service.begun).isEmpty();
    }

    @Test
    void optionsOfTheServerAsAWholeHaveNoRoute() throws Exception {
        assertThat(wholeReply("OPTIONS * HTTP/1.1\nHost: x\nConnection: close\n\n"))
                .startsWith("HTTP/1.1 404 ")
                .contains("MALFORMED_REQUEST", "no route of the gateway is for OPTIONS *; nothing was forwarded");
    }

    @Test
    void dotsInAQueryAreNamedInTheRefusal() throws Exception {
        assertThat(wholeReply("GET /open/x?next=../a HTTP/1.1\nHost: x\nConnection: close\n\n"))
                .startsWith("HTTP/1.1 400 ")
                .contains("a segment '..'", "nothing was forwarded");
        assertThat(service.begun).isEmpty();
    }

    /** Forwarded without gzip, the service would take the coded bytes for the text. */
    @Test
    void codingThatIsNotForwardedIsRefused() throws Exception {
        assertThat(
                        send(
                                "PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: gzip, chunked\n\n4\nabcd\n0\n\n"))
                .startsWith("HTTP/1.1 501 ");
        assertThat(send("PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nTransfer-Encoding: Chunked\n\n4\nabcd\n0\n\n"))
                .startsWith("HTTP/1.1 200 ");
        assertThat(service.applied).containsExactly("/items/1 4");
    }

    /** A reply that overtook another would be taken for it. */
    @Test
    void refusalComesAfterTheReplyToTheRequestBefore() throws Exception {
        String sequencer = "\r\nFencing-Sequencer: " + gateway.locks.exclusive("items/1", 7);
        try (Socket socket = gateway.connect()) {
            socket.getOutputStream()
                    .write(("PUT /items/1 HTTP/1.1\r\nHost: x" + sequencer + "\r\nContent-Length: 4\r\n\r\nabcd"
                                    + "PUT /items/1 HTTP/1.1\r\nHost: x" + sequencer
                                    + "\r\nConnection: Host\r\nContent-Length: 4\r\n\r\nevil"
                                    + "PUT /items/1 HTTP/1.1\r\nHost: x" + sequencer
                                    + "\r\nContent-Length: 4\r\n\r\nlast")
                            .getBytes(US_ASCII));
            String all = new String(socket.getInputStream().readAllBytes(), US_ASCII);
            assertThat(all).startsWith("HTTP/1.1 200 ").contains("HTTP/1.1 400 ");
            assertThat(all.indexOf("HTTP/1.1 200 ")).isEqualTo(all.lastIndexOf("HTTP/1.1 200 "));
            assertThat(service.contents).containsEntry("/items/1", "abcd");
        }
    }

    /** The first bytes decide which protocol it is. */
    @Test
    void requestThatComesByteByByteIsCheckedToo() throws Exception {
        try (Socket socket = gateway.connect()) {
            socket.setTcpNoDelay(true);
            for (byte each : "PUT /items/1 HTTP/1.1\r\nHost: x\r\nConnection: Host\r\n\r\n".getBytes(US_ASCII)) {
                socket.getOutputStream().write(each);
                socket.getOutputStream().flush();
            }
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 400 ");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"http1", "http2"})
    void trailersReachNeitherTheGuardNorTheService(String protocol) throws Exception {
        Path own = java.nio.file.Files.createTempDirectory(directory, protocol);
        try (GatewayFixture other = new GatewayFixture(own, service.address(), protocol, "30s");
                Socket socket = other.connect()) {
            String sequencer = "Fencing-Sequencer: " + other.locks.exclusive("items/1", 7) + "\r\n";
            String chunked = "PUT /items/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n";
            String body = "\r\n4\r\nabcd\r\n0\r\n";
            socket.getOutputStream()
                    .write((chunked + sequencer + body + "X-Item: 1\r\nFencing-Sequencer: x\r\n\r\n")
                            .getBytes(US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 200 ");
            socket.getInputStream().readNBytes("stored 4".length());
            assertThat(service.applied).containsExactly("/items/1 4");
            assertThat(service.trailers).containsExactly("");
            socket.getOutputStream().write((chunked + body + sequencer + "\r\n").getBytes(US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 428 ");
            assertThat(service.begun).hasSize(1);
        }
    }

    /** One way fewer into the gateway; clients that speak HTTP/2 begin with it. */
    @Test
    void upgradeToHttp2IsPassedOver() throws Exception {
        assertThat(send("""
                        GET /items/1 HTTP/1.1
                        Host: x
                        SEQUENCER
                        Connection: Upgrade, HTTP2-Settings
                        Upgrade: h2c
                        HTTP2-Settings: AAMAAABkAAQAAP__

                        """)).startsWith("HTTP/1.1 200 ");
    }

    @Test
    void encodedNameIsTheSameLockAndIsForwardedAsItWasSent() throws Exception {
        assertThat(send("PUT /items/%31?a=%7E HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n"))
                .startsWith("HTTP/1.1 200 ");
        assertThat(service.begun).containsExactly("PUT /items/%31?a=%7E");
    }

    @Test
    void expectationIsMetByTheGateway() throws Exception {
        try (Socket socket = gateway.connect()) {
            socket.getOutputStream()
                    .write(("PUT /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                                    + gateway.locks.exclusive("items/1", 7)
                                    + "\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
                            .getBytes(US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 100 ");
            socket.getOutputStream().write("abcd".getBytes(US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 200 ");
            assertThat(service.applied).containsExactly("/items/1 4");
            assertThat(service.headers.get(0).get("expect")).isNull();
        }
    }

    /** Otherwise the refusal comes while the body is under way, and the close of the connection can take it away. */
    @Test
    void clientThatWaitsForContinueAndIsRefusedSendsNoBody() throws Exception {
        assertThat(send("PUT /items/1 HTTP/1.1\nHost: x\nSEQUENCER\nContent-Length: 0\n\n"))
                .startsWith("HTTP/1.1 200 ");
        service.begun.clear();
        try (Socket socket = gateway.connect()) {
            socket.getOutputStream()
                    .write(("PUT /items/1 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                                    + gateway.locks.exclusive("items/1", 6)
                                    + "\r\nExpect: 100-continue\r\nContent-Length: 40\r\n\r\n")
                            .getBytes(US_ASCII));
            String head = OutcomeTest.head(socket.getInputStream());
            assertThat(head).startsWith("HTTP/1.1 409 ").containsIgnoringCase("\nconnection: close");
            socket.getInputStream().readAllBytes();
        }
        assertThat(service.begun).isEmpty();
    }

    /** The rest of its body is discarded, and its connection is of use. */
    @Test
    void refusedClientThatStillSendsItsBodyIsServedNext() throws Exception {
        try (Socket socket = gateway.connect()) {
            OutputStream out = socket.getOutputStream();
            out.write("PUT /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nmore".getBytes(US_ASCII));
            assertThat(OutcomeTest.head(socket.getInputStream())).startsWith("HTTP/1.1 404 ");
            out.write("more".getBytes(US_ASCII));
            out.write("GET /open/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".getBytes(US_ASCII));
            assertThat(new String(socket.getInputStream().readAllBytes(), US_ASCII))
                    .contains("HTTP/1.1 200 ");
        }
    }

    @Test
    void markOfAWaitingClientIsNotForwardedAndHasNoMeaningFromOutside() throws Exception {
        assertThat(send("PUT /items/1 HTTP/1.1\nHost: x\nPalisade-Waits: 1\nSEQUENCER\nContent-Length: 0\n\n"))
                .startsWith("HTTP/1.1 200 ");
        assertThat(service.headers.get(0).get("palisade-waits")).isNull();
    }

    /** Its head was admitted and forwarded, and a service may have taken what came of the body. */
    @Test
    void requestThatBreaksInMidBodyIsNotSaidToBeUnapplied() throws Exception {
        try (Socket socket = gateway.connect()) {
            socket.getOutputStream()
                    .write(("PUT /items/3 HTTP/1.1\r\nHost: x\r\nFencing-Sequencer: "
                                    + gateway.locks.exclusive("items/3", 7)
                                    + "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
                            .getBytes(US_ASCII));
            await().until(() -> service.begun.size() == 1);
            socket.getOutputStream().write("zz\r\n".getBytes(US_ASCII));
            String reply = new String(socket.getInputStream().readAllBytes(), US_ASCII);
            assertThat(reply).startsWith("HTTP/1.1 400 ").contains("\"applied\":\"unknown\"");
        }
    }
}
