package dev.palisade.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.palisade.bench.Rounds.Contestant;
import dev.palisade.bench.Rounds.Measured;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * What {@code palisade gateway} costs: small writes under a lease, through the gateway and past it. The guarded and the
 * unguarded route are of one process, so they differ by the guard alone.
 */
final class GatewayPart {
    static final String DIRECT = "the service itself";
    static final String UNGUARDED = "gateway, unguarded route";
    static final String GUARDED = "gateway";
    static final String REGISTER = "gateway with a register";
    static final String NGINX = "nginx";

    static final String PROXY = "proxy";

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static final int MOST = 64;
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final Duration ADMISSION = Duration.ofMinutes(1);
    private static final String LISTENING = "listening on ";

    private final Map<String, Proxy> proxies = new LinkedHashMap<>();
    private final Deque<AutoCloseable> running = new ArrayDeque<>();

    /** @param clock of its processes; null: there is no process between */
    private record Proxy(String address, String path, Optional<LongSupplier> clock) {}

    private GatewayPart() {}

    static String title(int connections) {
        return "PUT of 100 bytes over HTTP/1.1, connections: " + connections;
    }

    /** Of one request, of the gateway's process. */
    static double cpu(Measured round) {
        return round.cpuMicrosEach(PROXY);
    }

    static void run(Services services, LockParts.Sink sink) throws Exception {
        GatewayPart part = new GatewayPart();
        try {
            part.measure(services, sink);
        } finally {
            while (!part.running.isEmpty()) {
                part.running.pop().close();
            }
        }
    }

    private <T extends AutoCloseable> T started(T process) {
        running.push(process);
        return process;
    }

    private void measure(Services services, LockParts.Sink sink) throws Exception {
        ServerProcess locks = started(services.newServer(Store.SYNCED));
        Child service = started(Child.start("service", service(), Map.of()));
        String upstream = service.await(line -> line.startsWith(LISTENING)).substring(LISTENING.length());
        proxies.put(DIRECT, new Proxy(upstream, "/items/", Optional.empty()));
        ServerProcess gateway = started(locks.gateway("gateway", config("marks: marks", locks, upstream)));
        Optional<LongSupplier> clock = Optional.of(Usage.ofProcess(gateway.pid()));
        proxies.put(UNGUARDED, new Proxy(gateway.address(), "/open/", clock));
        proxies.put(GUARDED, new Proxy(gateway.address(), "/items/", clock));
        addRegister(services, locks, upstream);
        addNginx(services, locks.home(), upstream);
        PalisadeClient client = started(PalisadeClient.connect(locks.address()));
        for (Proxy proxy : proxies.values()) {
            for (int i = 0; i < MOST; i++) {
                awaitAdmission(proxy, client, i);
            }
        }
        List<Lease> leases = new ArrayList<>();
        for (int i = 0; i < MOST; i++) {
            leases.add(client.acquire("bench/items/" + i, WAIT));
        }
        for (int connections : new int[] {1, 8, MOST}) {
            Map<String, Contestant> contestants = new LinkedHashMap<>();
            proxies.forEach((name, proxy) ->
                    contestants.put(name, putting(proxy, leases.subList(0, connections), service.pid())));
            sink.compare(Part.GATEWAY, title(connections), UNGUARDED, contestants);
        }
    }

    private void addRegister(Services services, ServerProcess locks, String upstream) throws IOException {
        Optional<String> postgres = services.postgres();
        if (postgres.isEmpty()) {
            services.leaveOut(REGISTER + ": no --postgres");
            return;
        }
        try {
            String url = started(new Schema(postgres.get())).url();
            String marks = "register:\n  jdbc-url: " + url;
            ServerProcess gateway = started(locks.gateway("register", config(marks, locks, upstream)));
            proxies.put(REGISTER, new Proxy(gateway.address(), "/items/", Optional.of(Usage.ofProcess(gateway.pid()))));
        } catch (SQLException | ScenarioFailed e) {
            services.leaveOut(REGISTER + ": " + e.getMessage());
        }
    }

    private void addNginx(Services services, Path home, String upstream) throws IOException, InterruptedException {
        Optional<Path> command = Nginx.command();
        if (command.isEmpty()) {
            services.leaveOut(NGINX + ": neither on the PATH nor in /usr/sbin; install the package nginx");
            return;
        }
        try {
            Nginx nginx = started(Nginx.start(command.get(), home.resolve("nginx"), upstream));
            proxies.put(NGINX, new Proxy(nginx.address(), "/items/", Optional.of(Usage.ofTree(nginx.pid()))));
        } catch (ScenarioFailed e) {
            services.leaveOut(NGINX + ": " + e.getMessage());
        }
    }

    /** With the JVM's defaults, as the gateway. */
    private static List<String> service() {
        return List.of(
                ServerProcess.jdkTool("java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                BenchHttpService.class.getName());
    }

    private static String config(String marks, ServerProcess locks, String upstream) {
        return "listen: 127.0.0.1:0\nprotects: bench " + marks.substring(0, marks.indexOf(':')) + "\n" + marks
                + "\nkeyset: keys/sequencers.json\nlock-servers: " + locks.address()
                + "\nupstream:\n  addresses: " + upstream + """

                routes:
                  - path: /items/{id}
                    lock: bench/items/{id}
                  - path: /open/{id}
                    access: unguarded
                """;
    }

    /**
     * A gateway listens before its lock server has replied, and refuses requests until then; afterwards, those of leases that are older
     * than the reply, which comes for each domain of locks.
     */
    private static void awaitAdmission(Proxy proxy, PalisadeClient client, int item)
            throws IOException, InterruptedException {
        long end = System.nanoTime() + ADMISSION.toNanos();
        int status;
        do {
            try (Lease lease = client.acquire("bench/items/" + item, WAIT)) {
                HttpRequest put = HttpRequest.newBuilder(URI.create("http://" + proxy.address() + proxy.path() + item))
                        .version(HttpClient.Version.HTTP_1_1)
                        .timeout(WAIT)
                        .header("Fencing-Sequencer", lease.sequencer().toText())
                        .PUT(HttpRequest.BodyPublishers.ofString("w"))
                        .build();
                status = HTTP.send(put, HttpResponse.BodyHandlers.discarding()).statusCode();
            }
        } while ((status == 503 || status == 409) && System.nanoTime() - end < 0);
    }

    /** All send the same bytes but for the path, the sequencer included. */
    private static Contestant putting(Proxy proxy, List<Lease> leases, long service) {
        return time -> {
            List<byte[]> requests = new ArrayList<>();
            for (int i = 0; i < leases.size(); i++) {
                String head = "PUT " + proxy.path() + i + " HTTP/1.1\r\nHost: " + proxy.address()
                        + "\r\nContent-Type: text/plain\r\nFencing-Sequencer: "
                        + leases.get(i).sequencer().toText() + "\r\nContent-Length: 100\r\n\r\n";
                requests.add((head + "w".repeat(100)).getBytes(US_ASCII));
            }
            Map<String, LongSupplier> clocks = new LinkedHashMap<>();
            clocks.put(Service.CLIENT, Usage.ofProcess(ProcessHandle.current().pid()));
            proxy.clock().ifPresent(clock -> clocks.put(PROXY, clock));
            clocks.put("service", Usage.ofProcess(service));
            // Anew in each round: a gateway closes connections that are idle for a minute.
            try (HttpLoad load = new HttpLoad(proxy.address(), requests)) {
                return load.run(clocks, time);
            }
        };
    }

    /** A schema of the run's own: a mark store is made once, and the next run has another lock server. */
    private static final class Schema implements AutoCloseable {
        private final String postgres;
        private final String name = "palisade_bench_" + Long.toHexString(System.nanoTime());

        Schema(String postgres) throws SQLException {
            this.postgres = postgres;
            execute("CREATE SCHEMA " + name);
        }

        String url() {
            return postgres + (postgres.indexOf('?') < 0 ? "?" : "&") + "currentSchema=" + name;
        }

        private void execute(String sql) throws SQLException {
            try (Connection connection = DriverManager.getConnection(postgres);
                    Statement statement = connection.createStatement()) {
                var unused = statement.execute(sql);
            }
        }

        @Override
        public void close() throws SQLException {
            execute("DROP SCHEMA " + name + " CASCADE");
        }
    }
}
