package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** A queue of leases to resume on the next stream, many in one call if the server supports it. In the loop only. */
final class Resumptions {
    /** Limit for a server that names a larger one. */
    private static final int IN_ONE_CALL_MAX = 256;

    private final Session session;
    private final List<LeaseProtocol> due = new ArrayList<>();
    private final List<ResumeManyCall> inFlight = new ArrayList<>();

    Resumptions(Session session) {
        this.session = session;
    }

    /** Adds a lease to resume on the next stream. */
    void add(LeaseProtocol lease) {
        due.add(lease);
    }

    /** How many leases are to be resumed on the next stream. */
    int count() {
        return due.size();
    }

    /**
     * Sends the resumes on a new stream.
     *
     * @param inOneCallMax of the stream's server; 0 or less: one call for each lease
     */
    void begin(int inOneCallMax) {
        List<LeaseProtocol> leases = List.copyOf(due);
        due.clear();
        if (inOneCallMax <= 0) {
            leases.forEach(LeaseProtocol::resumeAlone);
            return;
        }
        int inOneCall = Math.min(inOneCallMax, IN_ONE_CALL_MAX);
        for (int from = 0; from < leases.size(); from += inOneCall) {
            ResumeManyCall call = new ResumeManyCall(leases.subList(from, Math.min(from + inOneCall, leases.size())));
            inFlight.add(call);
            session.start(call);
        }
    }

    /** Drops the calls of the broken stream, which get no reply. */
    void streamBroken() {
        inFlight.forEach(call -> call.leases.forEach(LeaseProtocol::dropResume));
        inFlight.clear();
    }

    /**
     * One call. A lease that it does not resume gets a call of its own, which shows the server more and returns the
     * reason.
     */
    private final class ResumeManyCall extends PendingCall {
        private final List<LeaseProtocol> leases;
        private List<LeaseProtocol> sentLeases = List.of();

        ResumeManyCall(List<LeaseProtocol> leases) {
            this.leases = leases;
        }

        @Override
        Call.Builder call(ClockReading now) {
            sentLeases = leases.stream().filter(LeaseProtocol::isResumeDue).toList();
            return GrantCalls.resume(
                    sentLeases.stream().map(LeaseProtocol::grant).toList());
        }

        @Override
        void onReply(Reply reply, ClockReading sent) {
            session.finish(this);
            inFlight.remove(this);
            Set<ByteString> left = new HashSet<>(reply.getResumeMany().getNotResumedList());
            for (LeaseProtocol lease : sentLeases) {
                if (!reply.hasResumeMany()
                        || left.contains(ProtoMapper.bytes(lease.grant().id()))) {
                    lease.resumeAlone();
                } else {
                    lease.resumed(sent);
                }
            }
        }

        @Override
        boolean outlivesStream() {
            return false;
        }
    }
}
