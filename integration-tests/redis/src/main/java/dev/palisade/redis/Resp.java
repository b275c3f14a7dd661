package dev.palisade.redis;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * One command to one Redis over a connection of its own, and its reply as text. No client library: one that reconnects,
 * retries or asks things of its own would get in the way of what is observed.
 */
final class Resp {
    private Resp() {}

    /**
     * Returns the reply: the text of a string or number, {@code nil}, an error with its leading minus, and the elements of an
     * array on lines of their own.
     *
     * @throws IOException if nothing answers within {@code patience}
     */
    static String ask(String host, int port, Duration patience, String... words) throws IOException {
        try (Socket socket = new Socket()) {
            int millis = Math.toIntExact(patience.toMillis());
            socket.connect(new InetSocketAddress(host, port), millis);
            socket.setSoTimeout(millis);
            socket.getOutputStream().write(request(words));
            return read(new BufferedInputStream(socket.getInputStream()));
        }
    }

    private static byte[] request(String... words) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(("*" + words.length + "\r\n").getBytes(StandardCharsets.UTF_8));
        for (String word : words) {
            byte[] bytes = word.getBytes(StandardCharsets.UTF_8);
            out.writeBytes(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.UTF_8));
            out.writeBytes(bytes);
            out.writeBytes("\r\n".getBytes(StandardCharsets.UTF_8));
        }
        return out.toByteArray();
    }

    private static String read(InputStream in) throws IOException {
        String line = line(in);
        String rest = line.substring(1);
        return switch (line.charAt(0)) {
            case '+', ':' -> rest;
            case '-' -> line;
            case '$' -> rest.equals("-1") ? "nil" : bulk(in, Integer.parseInt(rest));
            case '*' -> rest.equals("-1") ? "nil" : array(in, Integer.parseInt(rest));
            default -> throw new IOException("not a reply of Redis: " + line);
        };
    }

    private static String bulk(InputStream in, int length) throws IOException {
        byte[] bytes = in.readNBytes(length + 2);
        if (bytes.length < length + 2) {
            throw new EOFException("the connection ended within a reply");
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    private static String array(InputStream in, int length) throws IOException {
        List<String> elements = new ArrayList<>();
        for (int i = 0; i < length; i++) {
            elements.add(read(in));
        }
        return String.join("\n", elements);
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the connection ended before the reply");
            }
            line.write(next);
        }
        String text = line.toString(StandardCharsets.UTF_8).stripTrailing();
        if (text.isEmpty()) {
            throw new IOException("not a reply of Redis: an empty line");
        }
        return text;
    }
}
