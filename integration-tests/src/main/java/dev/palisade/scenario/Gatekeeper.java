package dev.palisade.scenario;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/**
 * Hears the client processes of a scenario and keeps their {@link Gate}s: a client that is about to write is told to go at
 * once, unless it is one to hold. Whether to hold is decided when the line is heard, so none slips by. One thread takes
 * what is held; {@link #heard} is open to several.
 */
public final class Gatekeeper {
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Observed observed = new Observed();
    private final Map<String, Child> clients = new ConcurrentHashMap<>();
    private final BlockingQueue<JsonObject> held = new LinkedBlockingQueue<>();
    private Predicate<JsonObject> which = about -> false;

    /** What the clients were seen to do. */
    public Observed observed() {
        return observed;
    }

    public void admit(Child client) {
        clients.put(client.name(), client);
    }

    public void dismiss(Child client) {
        clients.remove(client.name());
    }

    /** The clients by their names, as they are now. */
    public Map<String, Child> clients() {
        return Map.copyOf(clients);
    }

    /** The process whose event it is. */
    public Child client(JsonObject event) {
        Child client = clients.get(text(event, "client"));
        if (client == null) {
            throw new ScenarioFailed("no such client: " + event);
        }
        return client;
    }

    /** Takes a line that the client of that name printed. */
    public void heard(String name, String line) {
        observed.take(line);
        if (!line.startsWith("{\"event\":\"about\"")) {
            return;
        }
        JsonObject about = JsonParser.parseString(line).getAsJsonObject();
        Child client = clients.get(name);
        if (client == null) {
            return; // Said with its last breath.
        }
        if (toHold(about)) {
            held.add(about);
        } else {
            client.send("go " + text(about, "op"));
        }
    }

    private synchronized boolean toHold(JsonObject about) {
        return which.test(about);
    }

    /** From now on holds the clients that {@code newWhich} accepts. It is asked once for each, by one thread at a time. */
    public synchronized void hold(Predicate<JsonObject> newWhich) {
        which = newWhich;
    }

    /** The next client that is held: it has a lock, has read, is about to write, and waits for {@link #go}. */
    public JsonObject awaitHeld() {
        try {
            JsonObject about = held.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            if (about == null) {
                throw new ScenarioFailed("no such client came to write within " + PATIENCE.toSeconds() + " s");
            }
            return about;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    /** The next client that {@code one} accepts, and nobody after it. */
    public JsonObject awaitHeld(Predicate<JsonObject> one) {
        AtomicBoolean found = new AtomicBoolean();
        hold(about -> !found.get() && one.test(about) && found.compareAndSet(false, true));
        return awaitHeld();
    }

    public void go(JsonObject about) {
        client(about).send("go " + text(about, "op"));
    }

    /** Whether {@code event} is of another client under a later grant of the same lock. */
    public static boolean isSuccessor(JsonObject event, JsonObject former) {
        return text(event, "lock").equals(text(former, "lock"))
                && number(event, "token") > number(former, "token")
                && !text(event, "client").equals(text(former, "client"));
    }

    /** Returns when another client has written under a later grant of the same lock: that write's answer. */
    public JsonObject awaitSuccessor(JsonObject about) {
        return observed.await(
                0,
                "a write under a later grant than " + about,
                PATIENCE,
                event -> is(event, "acknowledged") && isSuccessor(event, about));
    }

    /** Returns what the client was answered for the write it was about to make. */
    public JsonObject awaitAnswer(JsonObject about) {
        return observed.await(
                0,
                "an answer for " + about,
                PATIENCE,
                event -> !is(event, "about")
                        && !is(event, "sending")
                        && event.has("op")
                        && text(event, "op").equals(text(about, "op")));
    }
}
