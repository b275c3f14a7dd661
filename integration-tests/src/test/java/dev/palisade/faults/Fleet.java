package dev.palisade.faults;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.Observed;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.Map;
import java.util.Random;

/**
 * The processes of a run: a lock server, what is written to, and client processes that are replaced when they are killed.
 * What its clients say and wait for is the gatekeeper's. One thread uses it.
 */
final class Fleet implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofMinutes(1);

    private static final String COUNTERS = "3";
    private static final String THREADS = "3";
    private static final String TTL_MILLIS = "1500";

    final Gatekeeper gatekeeper = new Gatekeeper();
    private final Installation installation;
    private final Front front;
    private final Random random;
    private Service server;
    private int clientsStarted;

    /** @param front closed with the fleet */
    Fleet(Installation installation, Front front, int clientsTotal, Random random) {
        this.installation = installation;
        this.front = front;
        this.random = random;
        this.server = installation.server();
        front.locksAt(server);
        for (int i = 0; i < clientsTotal; i++) {
            startClient();
        }
    }

    /** Returns how the client's next read under the same grant went. */
    JsonObject awaitReadAfter(JsonObject answer) {
        return gatekeeper
                .observed()
                .await(
                        0,
                        "a read after " + answer,
                        PATIENCE,
                        event -> (is(event, "read") || is(event, "read-failed"))
                                && text(event, "grant").equals(text(answer, "grant"))
                                && number(event, "at") > number(answer, "at"));
    }

    /** Returns when something was written after this call. */
    void awaitProgress() {
        long now = System.nanoTime();
        Observed observed = gatekeeper.observed();
        observed.await(
                observed.size(),
                "a write after a fault",
                PATIENCE,
                event -> is(event, "acknowledged") && number(event, "at") > now);
    }

    /** kill -9, and a new client in its place. */
    void replace(Child client) {
        client.kill();
        gatekeeper.dismiss(client);
        startClient();
    }

    Child anyClient() {
        Map<String, Child> clients = gatekeeper.clients();
        var names = clients.keySet().stream().sorted().toList();
        Child any = clients.get(names.get(random.nextInt(names.size())));
        if (any == null) {
            throw new ScenarioFailed("a client vanished");
        }
        return any;
    }

    /** kill -9 and restart: same port, same data directory. */
    void restartServer() {
        server.child().kill();
        server = installation.server("--port", server.port());
    }

    /** Lets every client end by itself, then stops the services. */
    void stop() {
        Map<String, Child> left = gatekeeper.clients();
        left.values().forEach(client -> client.send("stop"));
        for (Child client : left.values()) {
            client.await(line -> line.equals("done"), PATIENCE);
            client.awaitExit();
        }
        front.stop();
        server.child().terminate();
    }

    private void startClient() {
        String name = "c" + ++clientsStarted;
        Child client = installation.worker(
                name,
                server,
                front.service(),
                line -> gatekeeper.heard(name, line),
                Long.toString(random.nextLong()),
                COUNTERS,
                THREADS,
                TTL_MILLIS);
        gatekeeper.admit(client);
        client.send("start");
    }

    @Override
    public void close() {
        gatekeeper.clients().values().forEach(Child::close);
        front.close();
        server.child().close();
    }
}
