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
 * The outgoing calls of one stream: a queue of calls to send, urgent ones first, and a bounded window of calls in
 * flight. A call that resumes many grants counts as one for each. Pure.
 */
final class Outbox {
    /**
     * A call that was sent and has no reply.
     *
     * @param weight as how many calls it counts
     */
    record InFlightCall(PendingCall call, ClockReading sent, int weight) {}

    private final ArrayDeque<PendingCall> urgent = new ArrayDeque<>();
    private final ArrayDeque<PendingCall> ordinary = new ArrayDeque<>();
    private final Map<Long, InFlightCall> inFlightCalls = new LinkedHashMap<>();
    private final int inFlightMax;
    private int inFlightWeight;
    private long nextCallId = 1;

    Outbox(int inFlightMax) {
        this.inFlightMax = Math.max(1, inFlightMax);
    }

    void add(PendingCall pending) {
        (pending.isUrgent() ? urgent : ordinary).add(pending);
    }

    /**
     * Takes the calls that may be sent now, without those that are done. The last call may exceed a limit.
     *
     * @param frameMax limit of one frame
     */
    List<Call> take(ClockReading now, int frameMax) {
        List<Call> calls = new ArrayList<>();
        for (int taken = 0; taken < frameMax && inFlightWeight < inFlightMax; ) {
            PendingCall pending = urgent.isEmpty() ? ordinary.poll() : urgent.poll();
            if (pending == null) {
                break;
            }
            if (!pending.done()) {
                long id = nextCallId++;
                Call call = pending.call(now).setCallId(id).build();
                int weight = Math.max(1, call.getResumeMany().getGrantsCount());
                inFlightCalls.put(id, new InFlightCall(pending, now, weight));
                calls.add(call);
                taken += weight;
                inFlightWeight += weight;
            }
        }
        return calls;
    }

    /** Removes and returns the call with that id; null if there is none, or if it had its reply before. */
    @Nullable
    InFlightCall remove(long callId) {
        InFlightCall inFlightCall = inFlightCalls.remove(callId);
        inFlightWeight -= inFlightCall == null ? 0 : inFlightCall.weight();
        return inFlightCall;
    }

    OptionalLong oldestSentNanos() {
        return inFlightCalls.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(
                        inFlightCalls.values().iterator().next().sent().nanos());
    }
}
