package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Reply;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Resumes on a new stream what was held on the one before: many leases in one call where the server takes that. In the loop only. */
final class Resumptions {
    /** The server's limit is higher, or it is no server. */
    private static final int AT_A_TIME_MAX = 256;

    private final Session session;
    private final List<Upkeep> due = new ArrayList<>();
    private final List<Several> underWay = new ArrayList<>();

    Resumptions(Session session) {
        this.session = session;
    }

    /** To be resumed on the next stream. */
    void add(Upkeep lease) {
        due.add(lease);
    }

    /** @param atATimeMax of the new stream's server; 0 or less: each by itself */
    void begin(int atATimeMax) {
        List<Upkeep> leases = List.copyOf(due);
        due.clear();
        if (atATimeMax <= 0) {
            leases.forEach(Upkeep::resumeAlone);
            return;
        }
        int atATime = Math.min(atATimeMax, AT_A_TIME_MAX);
        for (int from = 0; from < leases.size(); from += atATime) {
            Several several = new Several(leases.subList(from, Math.min(from + atATime, leases.size())));
            underWay.add(several);
            session.start(several);
        }
    }

    /** What is under way will not be answered. */
    void streamBroken() {
        underWay.forEach(several -> several.leases.forEach(Upkeep::isDueNoMore));
        underWay.clear();
    }

    /** One call. What it does not resume is resumed by a call of its own, which shows the server more, and learns the reason. */
    private final class Several extends Errand {
        private final List<Upkeep> leases;
        private List<Upkeep> asked = List.of();

        Several(List<Upkeep> leases) {
            this.leases = leases;
        }

        @Override
        Call.Builder call(Moment now) {
            asked = leases.stream().filter(Upkeep::isDue).toList();
            return Calls.resume(asked.stream().map(Upkeep::grant).toList());
        }

        @Override
        void answered(Reply reply, Moment sent) {
            session.finish(this);
            underWay.remove(this);
            Set<ByteString> left = new HashSet<>(reply.getResumeMany().getNotResumedList());
            for (Upkeep lease : asked) {
                if (!reply.hasResumeMany()
                        || left.contains(Wire.bytes(lease.grant().id()))) {
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
