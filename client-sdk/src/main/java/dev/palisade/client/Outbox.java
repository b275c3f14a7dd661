package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The calls of one stream: those to send, urgent ones first, and those in flight, never more than the server allows. Pure. */
final class Outbox {
    /** A call on its way. */
    record Flight(Errand errand, Moment sent) {}

    private final ArrayDeque<Errand> urgent = new ArrayDeque<>();
    private final ArrayDeque<Errand> ordinary = new ArrayDeque<>();
    private final Map<Long, Flight> flights = new LinkedHashMap<>();
    private final int flightsMax;
    private long nextCallId = 1;

    Outbox(int flightsMax) {
        this.flightsMax = Math.max(1, flightsMax);
    }

    void add(Errand errand) {
        (errand.urgent() ? urgent : ordinary).add(errand);
    }

    /** Takes what may be sent now, at most {@code callsMax}; what was given up meanwhile is left out. */
    List<Call> take(Moment now, int callsMax) {
        List<Call> calls = new ArrayList<>();
        while (calls.size() < callsMax && flights.size() < flightsMax) {
            Errand errand = urgent.isEmpty() ? ordinary.poll() : urgent.poll();
            if (errand == null) {
                break;
            }
            if (!errand.done()) {
                long id = nextCallId++;
                flights.put(id, new Flight(errand, now));
                calls.add(errand.call(now).setCallId(id).build());
            }
        }
        return calls;
    }

    /** What was asked under that id; null when nothing was, or it is answered already. */
    @Nullable
    Flight answered(long callId) {
        return flights.remove(callId);
    }

    OptionalLong oldestSentNanos() {
        return flights.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(flights.values().iterator().next().sent().nanos());
    }
}
