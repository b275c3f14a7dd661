package dev.palisade.incidents;

import com.google.gson.JsonObject;
import dev.palisade.scenario.History;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Every token issued to anybody, and every try that ended without knowing: on file, and for the chapter that is going on. Thread-safe. */
final class Ledger {
    private static final int LOCKS = 2;

    private final History file;
    private final List<Issued> issued = new ArrayList<>();
    private final Map<Integer, Integer> unknown = new HashMap<>();
    private volatile int incident;

    Ledger(History file) {
        this.file = file;
    }

    /**
     * What is taken next.
     *
     * @param incident the number of the one that is going on
     */
    record Place(int incident, String lock) {}

    Place place(long number) {
        int now = incident;
        return new Place(now, "incident-" + now + "-" + number % LOCKS);
    }

    /** From now on tries are of that incident, and of its locks. */
    void begin(int number, String kind) {
        incident = number;
        JsonObject event = file.event("incident");
        event.addProperty("incident", number);
        event.addProperty("kind", kind);
        file.write(event);
    }

    /** What was done to whom, for the reader. */
    void note(String what) {
        JsonObject event = file.event("done");
        event.addProperty("incident", incident);
        event.addProperty("what", what);
        file.write(event);
    }

    void write(Issued one) {
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

    void write(Place place, String who, String fate, String why, long asked, long answered) {
        JsonObject event = event(place.incident(), who, fate);
        event.addProperty("lock", place.lock());
        event.addProperty("why", why);
        event.addProperty("asked", asked);
        event.addProperty("answered", answered);
        file.write(event);
        if (fate.equals("unknown")) {
            synchronized (issued) {
                unknown.merge(place.incident(), 1, Integer::sum);
            }
        }
    }

    private JsonObject event(int number, String who, String fate) {
        JsonObject event = file.event(fate);
        event.addProperty("incident", number);
        event.addProperty("who", who);
        return event;
    }

    long count(Predicate<Issued> which) {
        synchronized (issued) {
            return issued.stream().filter(which).count();
        }
    }

    List<Issued> issued() {
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
