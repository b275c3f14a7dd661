package dev.palisade.steps;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.check.Increment.Fate;
import dev.palisade.client.Lease;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One guarded HTTP call on a connection of its own; its sender may send half of the body and the rest later, or reset it. */
final class HttpCall implements AutoCloseable {
    /** Far beyond what a gateway lets a call wait. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final Pattern LENGTH = Pattern.compile("(?i)content-length: *(\\d+)");

    /**
     * What the caller was told.
     *
     * @param status 0: the connection broke
     * @param reason of a refusal; otherwise empty
     */
    record Reply(int status, String reason, boolean notApplied, String body) {
        Fate fate() {
            if (status == 200) {
                return Fate.ACKNOWLEDGED;
            }
            return notApplied ? Fate.REFUSED : Fate.UNKNOWN;
        }

        boolean isStale() {
            return reason.equals("TOKEN_STALE");
        }

        boolean isToBeTriedAgain() {
            return status == 503 && notApplied;
        }
    }

    private final Socket socket;
    private final byte[] body;
    private final CompletableFuture<Reply> reply;

    private HttpCall(int port, String head, byte[] body) throws IOException {
        this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
        this.body = body;
        socket.setTcpNoDelay(true);
        socket.setSoTimeout((int) PATIENCE.toMillis());
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        reply = CompletableFuture.supplyAsync(this::read, run -> {
            Thread thread = new Thread(run, "http-call");
            thread.setDaemon(true);
            thread.start();
        });
    }

    /** Sends the headers of a write of {@code content}, and no body. */
    static HttpCall put(int port, String key, Lease lease, String content) throws IOException {
        byte[] body = content.getBytes(StandardCharsets.UTF_8);
        return new HttpCall(port, head("PUT", key, lease, "Content-Length: " + body.length + "\r\n"), body);
    }

    static Reply get(int port, String key, Lease lease) {
        try (HttpCall call = new HttpCall(port, head("GET", key, lease, ""), new byte[0])) {
            return call.reply().join();
        } catch (IOException e) {
            return new Reply(0, "", false, e.toString());
        }
    }

    private static String head(String verb, String key, Lease lease, String more) {
        return verb + " /objects/" + key + " HTTP/1.1\r\nHost: objects\r\n" + more + "Fencing-Sequencer: "
                + lease.sequencer().toText() + "\r\n\r\n";
    }

    HttpCall sendFirstHalf() {
        return send(0, body.length / 2);
    }

    HttpCall sendSecondHalf() {
        return send(body.length / 2, body.length);
    }

    /** A part of the body, as far as the connection is still there: a gateway may refuse a call by its headers alone. */
    private HttpCall send(int from, int to) {
        try {
            socket.getOutputStream().write(body, from, to - from);
        } catch (IOException e) {
            // The reply says so.
        }
        return this;
    }

    CompletableFuture<Reply> reply() {
        return reply;
    }

    private Reply read() {
        try (InputStream in = socket.getInputStream()) {
            ByteArrayOutputStream head = new ByteArrayOutputStream();
            while (!head.toString(StandardCharsets.US_ASCII).endsWith("\r\n\r\n")) {
                int next = in.read();
                if (next < 0) {
                    return new Reply(0, "", false, "the connection ended");
                }
                head.write(next);
            }
            Matcher length = LENGTH.matcher(head.toString(StandardCharsets.US_ASCII));
            String content = new String(
                    in.readNBytes(length.find() ? Integer.parseInt(length.group(1)) : 0), StandardCharsets.UTF_8);
            int status =
                    Integer.parseInt(head.toString(StandardCharsets.US_ASCII).substring(9, 12));
            if (!content.startsWith("{")) {
                return new Reply(status, "", false, content);
            }
            JsonObject problem = JsonParser.parseString(content).getAsJsonObject();
            return new Reply(
                    status,
                    problem.get("reason").getAsString(),
                    problem.get("applied").getAsString().equals("no"),
                    content);
        } catch (IOException e) {
            return new Reply(0, "", false, e.toString());
        }
    }

    /** The caller's side of the connection is reset. */
    void cut() {
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            // Closed already.
        }
        close();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // Closed all the same.
        }
    }
}
