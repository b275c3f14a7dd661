package dev.palisade.client;

import dev.palisade.proto.v1.Call;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The calls of one stream: those to send, urgent ones first, and those in flight, never more than the server allows. A
 * call that resumes many grants counts as one for each. Pure.
 */
final class Outbox {
    /**
     * A call on its way.
     *
     * @param weight as how many calls it counts
     */
    record Flight(Errand errand, ClockReading sent, int weight) {}

    private final ArrayDeque<Errand> urgent = new ArrayDeque<>();
    private final ArrayDeque<Errand> ordinary = new ArrayDeque<>();
    private final Map<Long, Flight> flights = new LinkedHashMap<>();
    private final int inFlightMax;
    private int inFlight;
    private long nextCallId = 1;

    Outbox(int inFlightMax) {
        this.inFlightMax = Math.max(1, inFlightMax);
    }

    void add(Errand errand) {
        (errand.urgent() ? urgent : ordinary).add(errand);
    }

    /**
     * Takes what may be sent now; what was given up meanwhile is left out. The last call may exceed a limit.
     *
     * @param frameMax limit of one frame
     */
    List<Call> take(ClockReading now, int frameMax) {
        List<Call> calls = new ArrayList<>();
        for (int taken = 0; taken < frameMax && inFlight < inFlightMax; ) {
            Errand errand = urgent.isEmpty() ? ordinary.poll() : urgent.poll();
            if (errand == null) {
                break;
            }
            if (!errand.done()) {
                long id = nextCallId++;
                Call call = errand.call(now).setCallId(id).build();
                int weight = Math.max(1, call.getResumeMany().getGrantsCount());
                flights.put(id, new Flight(errand, now, weight));
                calls.add(call);
                taken += weight;
                inFlight += weight;
            }
        }
        return calls;
    }

    /** What was asked under that id; null when nothing was, or it is answered already. */
    @Nullable
    Flight answered(long callId) {
        Flight flight = flights.remove(callId);
        inFlight -= flight == null ? 0 : flight.weight();
        return flight;
    }

    OptionalLong oldestSentNanos() {
        return flights.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(flights.values().iterator().next().sent().nanos());
    }
}
