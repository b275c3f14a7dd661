package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.admin.AdminApi;
import dev.palisade.server.metrics.ServerMetrics;
import dev.palisade.server.rpc.Authentication;
import dev.palisade.server.rpc.InProcessLocks;
import dev.palisade.server.rpc.Served;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The admin port in this process, over the real store, and a client of it that writes requests byte by byte. */
final class AdminServed implements AutoCloseable {
    private static final int READ_MILLIS_MAX = 60_000;
    private static final long SNAPSHOT_NANOS = TimeUnit.SECONDS.toNanos(20);

    final Served served;
    final ServerMetrics metrics = new ServerMetrics();
    final AtomicReference<Optional<String>> unready = new AtomicReference<>(Optional.empty());
    final AdminPort port;
    final AdminApi api;
    /** Between two requests as much as a snapshot lives: none is answered from that of an earlier one. */
    private final AtomicLong skippedNanos = new AtomicLong();

    private final List<Socket> sockets = new CopyOnWriteArrayList<>();

    AdminServed(Path folder, @Nullable AccessControl access) throws Exception {
        this(folder, access, AdminPort.Times.DEFAULTS);
    }

    AdminServed(Path folder, @Nullable AccessControl access, AdminPort.Times times) throws Exception {
        this(folder, access, times, null);
    }

    AdminServed(Path folder, @Nullable AccessControl access, AdminPort.Times times, @Nullable ReloadableTls tls)
            throws Exception {
        served = new Served(folder);
        Authentication authentication = access == null
                ? null
                : new Authentication(
                        access,
                        tls == null ? null : tls.clientVerification(),
                        served.engine.events(),
                        served.engine.rejections());
        api = new AdminApi(
                new InProcessLocks(
                        served.rpc,
                        served.engine,
                        authentication,
                        Runnable::run,
                        () -> System.nanoTime() + skippedNanos.get()),
                System::currentTimeMillis);
        port = AdminPort.open(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                tls,
                authentication,
                metrics,
                unready::get,
                api,
                handshakes,
                times);
    }

    /** A second port of the same server. */
    final TlsHandshakes handshakes = new TlsHandshakes(EventLog.NONE);

    AdminPort open(InetSocketAddress address) throws Exception {
        return AdminPort.open(address, null, null, metrics, unready::get, api, handshakes, AdminPort.Times.DEFAULTS);
    }

    record Reply(int status, String head, String body) {}

    Reply ask(String method, String path, @Nullable String token, String body, String... headers) throws IOException {
        skippedNanos.addAndGet(SNAPSHOT_NANOS);
        StringBuilder request = new StringBuilder(method + " " + path + " HTTP/1.1\r\n");
        if (List.of(headers).stream().noneMatch(each -> each.startsWith("Host:"))) {
            request.append("Host: 127.0.0.1:").append(port.port()).append("\r\n");
        }
        if (token != null) {
            request.append("Authorization: Bearer ").append(token).append("\r\n");
        }
        for (String header : headers) {
            request.append(header).append("\r\n");
        }
        int length = body.getBytes(StandardCharsets.UTF_8).length;
        String all = asked(request + "Content-Length: " + length + "\r\n\r\n" + body);
        String[] parts = all.split("\r\n\r\n", 2);
        return new Reply(Integer.parseInt(all.substring(9, 12)), parts[0], parts[1]);
    }

    Reply get(String path, @Nullable String token) throws IOException {
        return ask("GET", path, token, "");
    }

    Reply post(String path, @Nullable String token, String body) throws IOException {
        return ask("POST", path, token, body, "Content-Type: application/json");
    }

    /** The whole response: the server ends the connection after it. */
    String asked(String request) throws IOException {
        Socket socket = connected();
        socket.getOutputStream().write(request.getBytes(StandardCharsets.UTF_8));
        return rest(socket);
    }

    Socket connected() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port.port());
        socket.setSoTimeout(READ_MILLIS_MAX);
        sockets.add(socket);
        return socket;
    }

    static String rest(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        port.close();
        metrics.close();
        served.close();
    }
}
