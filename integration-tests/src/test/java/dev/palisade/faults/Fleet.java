package dev.palisade.faults;

import static dev.palisade.faults.Observed.is;
import static dev.palisade.faults.Observed.number;
import static dev.palisade.faults.Observed.text;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The processes of a run: a lock server, an object storage, and client processes that are replaced when they are killed.
 * Clients that are about to write are told to go at once, but for the one that is asked for. One thread uses it.
 */
final class Fleet implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final String COUNTERS = "3";
    private static final String THREADS = "3";
    private static final String TTL_MILLIS = "1500";

    final Observed observed = new Observed();
    private final Installation installation;
    private final boolean guard;
    private final Random random;
    private final Map<String, Child> clients = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable Wanted> wanted = new AtomicReference<>();
    private Service server;
    private Service objects;
    private int clientsStarted;

    private record Wanted(Predicate<JsonObject> which, CompletableFuture<JsonObject> found) {}

    Fleet(Installation installation, boolean guard, int clientsTotal, Random random) {
        this.installation = installation;
        this.guard = guard;
        this.random = random;
        this.server = installation.server();
        this.objects = installation.objects("--guard", guard ? "enforce" : "off");
        for (int i = 0; i < clientsTotal; i++) {
            startClient();
        }
    }

    /** A client that holds a lock, has read, and is about to write; it waits for {@link #go}. */
    JsonObject holderAboutToWrite() {
        return aboutToWrite(about -> true);
    }

    /** Another client that has read under a later grant of the same lock and is about to write. */
    JsonObject successorAboutToWrite(JsonObject former) {
        return aboutToWrite(about -> isSuccessor(about, former));
    }

    private JsonObject aboutToWrite(Predicate<JsonObject> which) {
        Wanted one = new Wanted(which, new CompletableFuture<>());
        wanted.set(one);
        try {
            return one.found().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (TimeoutException | ExecutionException e) {
            throw new ScenarioFailed("no such client came to write within " + PATIENCE.toSeconds() + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    private static boolean isSuccessor(JsonObject event, JsonObject former) {
        return text(event, "lock").equals(text(former, "lock"))
                && number(event, "token") > number(former, "token")
                && !text(event, "client").equals(text(former, "client"));
    }

    Child client(JsonObject event) {
        Child client = clients.get(text(event, "client"));
        if (client == null) {
            throw new ScenarioFailed("no such client: " + event);
        }
        return client;
    }

    void go(JsonObject about) {
        client(about).send("go " + text(about, "op"));
    }

    /** Returns when another client has written under a later grant of the same lock. */
    void awaitSuccessor(JsonObject about) {
        observed.await(
                0,
                "a write under a later grant than " + about,
                PATIENCE,
                event -> is(event, "acknowledged") && isSuccessor(event, about));
    }

    /** Returns what the client was answered for the write it was about to make. */
    JsonObject awaitAnswer(JsonObject about) {
        return observed.await(
                0,
                "an answer for " + about,
                PATIENCE,
                event -> !is(event, "about")
                        && !is(event, "sending")
                        && event.has("op")
                        && text(event, "op").equals(text(about, "op")));
    }

    /** Returns how the client's next read under the same grant went. */
    JsonObject awaitReadAfter(JsonObject answer) {
        return observed.await(
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
        observed.await(
                observed.size(),
                "a write after a fault",
                PATIENCE,
                event -> is(event, "acknowledged") && number(event, "at") > now);
    }

    /** kill -9, and a new client in its place. */
    void replace(Child client) {
        client.kill();
        clients.remove(client.name());
        startClient();
    }

    Child anyClient() {
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

    /** kill -9 and restart with {@code between} in between. */
    void restartObjects(Runnable between) {
        objects.child().kill();
        between.run();
        objects = installation.objects("--guard", guard ? "enforce" : "off", "--port", objects.port());
    }

    /** Lets every client end by itself, then stops the services. */
    void stop() {
        Map<String, Child> left = new LinkedHashMap<>(clients);
        left.values().forEach(client -> client.send("stop"));
        for (Child client : left.values()) {
            client.await(line -> line.equals("done"), PATIENCE);
            client.awaitExit();
        }
        objects.child().terminate();
        server.child().terminate();
    }

    private void startClient() {
        String name = "c" + ++clientsStarted;
        Child client = installation.worker(
                name,
                server,
                objects,
                line -> heard(name, line),
                Long.toString(random.nextLong()),
                COUNTERS,
                THREADS,
                TTL_MILLIS);
        clients.put(name, client);
        client.send("start");
    }

    private void heard(String name, String line) {
        observed.take(line);
        if (!line.startsWith("{\"event\":\"about\"")) {
            return;
        }
        JsonObject about = JsonParser.parseString(line).getAsJsonObject();
        Child client = clients.get(name);
        if (client == null) {
            return; // Said with its last breath.
        }
        Wanted one = wanted.get();
        if (one != null && one.which().test(about) && wanted.compareAndSet(one, null)) {
            one.found().complete(about);
        } else {
            client.send("go " + text(about, "op"));
        }
    }

    @Override
    public void close() {
        clients.values().forEach(Child::close);
        objects.child().close();
        server.child().close();
    }
}
