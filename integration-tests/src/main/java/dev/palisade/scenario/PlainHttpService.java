package dev.palisade.scenario;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/**
 * HTTP service of a process of its own that knows nothing of locks: keeps the text that is PUT to a path, and prints
 * each write that it applies. Stands for a service that cannot be changed.
 */
public final class PlainHttpService {
    private static final Map<String, String> TEXTS = new ConcurrentHashMap<>();

    private PlainHttpService() {}

    /** Listens on a free port; arguments are ignored. */
    public static void main(String[] args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", PlainHttpService::handle);
        server.start();
        System.out.println("listening on 127.0.0.1:" + server.getAddress().getPort());
    }

    private static void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String text = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        if (exchange.getRequestMethod().equals("PUT")) {
            TEXTS.put(path, text);
            System.out.println("applied " + path + " " + text);
        }
        byte[] body = TEXTS.getOrDefault(path, "").getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, body.length == 0 ? -1 : body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }
}
