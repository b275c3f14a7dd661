package dev.palisade.incidents;

import com.google.gson.JsonObject;
import dev.palisade.scenario.History;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Log of every issued token and every attempt with unknown outcome: in a file, and in memory for one campaign.
 * Thread-safe.
 */
final class TokenLog {
    private static final int LOCKS = 2;

    private final History file;
    private final List<IssuedToken> issued = new ArrayList<>();
    private final Map<Integer, Integer> unknown = new HashMap<>();
    private volatile int incident;

    TokenLog(History file) {
        this.file = file;
    }

    /**
     * One attempt to take a lock.
     *
     * @param incident number of the current incident
     */
    record Attempt(int incident, String lock) {}

    Attempt attempt(long number) {
        int now = incident;
        return new Attempt(now, "incident-" + now + "-" + number % LOCKS);
    }

    /** Assigns later attempts to that incident and its locks. */
    void begin(int number, String kind) {
        incident = number;
        JsonObject event = file.event("incident");
        event.addProperty("incident", number);
        event.addProperty("kind", kind);
        file.write(event);
    }

    /** Records an action, for people. */
    void note(String what) {
        JsonObject event = file.event("done");
        event.addProperty("incident", incident);
        event.addProperty("what", what);
        file.write(event);
    }

    void write(IssuedToken one) {
        JsonObject event = event(one.incident(), one.granted().client(), "taken");
        event.addProperty("lock", one.lock());
        event.addProperty("counter", one.granted().lock());
        event.addProperty("token", one.token());
        event.addProperty("node", one.node());
        event.addProperty("epoch", one.epoch());
        event.addProperty("asked", one.granted().askedNanos());
        event.addProperty("answered", one.granted().answeredNanos());
        file.write(event);
        synchronized (issued) {
            issued.add(one);
        }
    }

    void write(Attempt attempt, String who, String outcome, String why, long asked, long answered) {
        JsonObject event = event(attempt.incident(), who, outcome);
        event.addProperty("lock", attempt.lock());
        event.addProperty("why", why);
        event.addProperty("asked", asked);
        event.addProperty("answered", answered);
        file.write(event);
        if (outcome.equals("unknown")) {
            synchronized (issued) {
                unknown.merge(attempt.incident(), 1, Integer::sum);
            }
        }
    }

    private JsonObject event(int number, String who, String outcome) {
        JsonObject event = file.event(outcome);
        event.addProperty("incident", number);
        event.addProperty("who", who);
        return event;
    }

    long count(Predicate<IssuedToken> which) {
        synchronized (issued) {
            return issued.stream().filter(which).count();
        }
    }

    List<IssuedToken> issued() {
        synchronized (issued) {
            return List.copyOf(issued);
        }
    }

    Map<Integer, Integer> unknown() {
        synchronized (issued) {
            return Map.copyOf(unknown);
        }
    }
}
