package dev.palisade.steps;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerVerifier;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP service behind the gateways that compares no tokens. Its log is its data: each call it applies is one line, with
 * the content. The lines {@code hold KEY STEP} and {@code go KEY NANOS} on standard input stop its next write of that key at a
 * step, and let it continue; after NANOS on the machine's monotonic clock it applies nothing of it, which is its promise of
 * &#916;.
 */
public final class LoggedService {
    /** Where a write can be stopped. */
    enum Step {
        /** Its headers are here. */
        RECEIVED,
        /** Half of its body is here. */
        HALF,
        /** All of it is here; it is not applied. */
        WHOLE,
        /** It is applied; it is not answered. */
        APPLIED
    }

    private static final class Held {
        final Step step;
        final CountDownLatch going = new CountDownLatch(1);
        volatile long deadlineNanos = Long.MAX_VALUE;

        Held(Step step) {
            this.step = step;
        }
    }

    private final Path log;
    private final SequencerVerifier verifier;
    private final Map<String, Held> armed = new ConcurrentHashMap<>();
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private final Map<String, String> contents = new HashMap<>();

    private LoggedService(Path log, SequencerVerifier verifier) {
        this.log = log;
        this.verifier = verifier;
    }

    /** The last argument is the file of the log. */
    public static void main(String[] args) throws IOException {
        LoggedService service = new LoggedService(
                Path.of(args[args.length - 1]),
                KeysetFile.open(Defaults.keyset()).verifier(Defaults.ISSUER));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/objects/", service::handle);
        server.start();
        System.out.println("listening on 127.0.0.1:" + server.getAddress().getPort());
        service.obey();
        System.exit(0);
    }

    private void obey() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("hold")) {
                armed.put(words[1], new Held(Step.valueOf(words[2])));
            } else {
                armed.remove(words[1]);
                Held call = held.get(words[1]);
                if (call != null) {
                    call.deadlineNanos = Long.parseLong(words[2]);
                    call.going.countDown();
                }
            }
        }
    }

    private void handle(HttpExchange exchange) throws IOException {
        String key = exchange.getRequestURI().getPath().substring("/objects/".length());
        Sequencer sequencer = verifier.verify(
                SignedSequencer.ofText(exchange.getRequestHeaders().getFirst("Fencing-Sequencer")));
        if (exchange.getRequestMethod().equals("GET")) {
            reply(exchange, 200, read(key, sequencer));
            return;
        }
        Held call = armed.remove(key);
        int length = Integer.parseInt(exchange.getRequestHeaders().getFirst("Content-Length"));
        pass(key, call, Step.RECEIVED);
        InputStream body = exchange.getRequestBody();
        byte[] first = body.readNBytes(length / 2);
        pass(key, call, Step.HALF);
        byte[] rest = body.readNBytes(length - first.length);
        if (first.length + rest.length < length) {
            throw new IOException("the caller has gone");
        }
        pass(key, call, Step.WHOLE);
        String content = new String(first, StandardCharsets.UTF_8) + new String(rest, StandardCharsets.UTF_8);
        if (!write(key, sequencer, content.strip(), call == null ? Long.MAX_VALUE : call.deadlineNanos)) {
            reply(exchange, 503, "too late");
            return;
        }
        pass(key, call, Step.APPLIED);
        reply(exchange, 200, "");
    }

    private void pass(String key, @Nullable Held call, Step step) {
        if (call == null || call.step != step) {
            return;
        }
        held.put(key, call);
        System.out.println("held " + key);
        try {
            call.going.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized String read(String key, Sequencer sequencer) throws IOException {
        String content = contents.getOrDefault(key, "");
        append("R", key, sequencer, "");
        return content;
    }

    private synchronized boolean write(String key, Sequencer sequencer, String content, long deadlineNanos)
            throws IOException {
        if (System.nanoTime() > deadlineNanos) {
            return false;
        }
        append("W", key, sequencer, content);
        contents.put(key, content);
        return true;
    }

    private void append(String verb, String key, Sequencer sequencer, String content) throws IOException {
        Files.writeString(
                log,
                String.join(
                        "\t",
                        verb,
                        key,
                        Long.toString(sequencer.token().value()),
                        sequencer.grant().toString(),
                        content + "\n"),
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    private static void reply(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        try (exchange) {
            exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }
}
