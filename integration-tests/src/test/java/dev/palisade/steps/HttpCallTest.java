package dev.palisade.steps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.FakePalisade;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class HttpCallTest {
    @Test
    void refusalBeforeTheBodyIsTheReply() throws Exception {
        try (FakePalisade palisade = FakePalisade.start();
                ServerSocket gateway = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                HttpCall call = HttpCall.put(gateway.getLocalPort(), "a", palisade.hold("a"), "content")) {
            try (Socket accepted = gateway.accept()) {
                String problem = "{\"reason\":\"TOKEN_STALE\",\"applied\":\"no\"}";
                accepted.getOutputStream()
                        .write(("HTTP/1.1 409 \r\ncontent-length: " + problem.length() + "\r\n\r\n" + problem)
                                .getBytes(StandardCharsets.US_ASCII));
            }
            assertThat(call.reply().get().isStale()).isTrue();
            assertThat(call.sendFirstHalf().sendSecondHalf().reply().get().isStale())
                    .isTrue();
        }
    }
}
