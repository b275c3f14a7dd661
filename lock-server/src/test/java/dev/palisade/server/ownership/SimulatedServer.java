package dev.palisade.server.ownership;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A lock server's process: the state machine under test, and a memory that is one lock. */
final class SimulatedServer {
    static final int NONE = -1;

    /** What came back from the log, and the log's content at that moment. */
    record Reply(@Nullable ClaimReply claim, @Nullable AppendFailure failure, List<Integer> content) {}

    /** What the batch on its way is worth to its client. */
    record Batch(int entry, int client, long decidedAt) {
        static final Batch EMPTY = new Batch(NONE, NONE, 0);

        boolean writes() {
            return entry >= 0;
        }
    }

    final int number;
    int starts = 1;
    boolean up = true;
    boolean paused;
    boolean cut;
    Ownership ownership;
    boolean returning = true;
    /** Entries of grants: number * 2 + client. */
    List<Integer> memory = List.of();

    /** That are not acknowledged, the oldest first. */
    List<Batch> batches = List.of();
    /** Outcomes that the server has not received, the oldest first. */
    List<Reply> flying = List.of();

    long leaseEnd;
    long recoveringUntil;
    long servingSince;
    long claimedAt;
    long beatAt = NONE;
    long bidAt = NONE;
    /** Next part of a rewrite; a resend or yield to be sent. */
    int part;

    boolean mustSend;
    /** Received while paused. */
    @Nullable
    Reply reply;

    SimulatedServer(int number, Ownership ownership) {
        this.number = number;
        this.ownership = ownership;
    }

    SimulatedServer(SimulatedServer other) {
        this.number = other.number;
        this.starts = other.starts;
        this.up = other.up;
        this.paused = other.paused;
        this.cut = other.cut;
        this.ownership = other.ownership;
        this.returning = other.returning;
        this.memory = other.memory;
        this.batches = other.batches;
        this.flying = other.flying;
        this.leaseEnd = other.leaseEnd;
        this.recoveringUntil = other.recoveringUntil;
        this.servingSince = other.servingSince;
        this.claimedAt = other.claimedAt;
        this.beatAt = other.beatAt;
        this.bidAt = other.bidAt;
        this.part = other.part;
        this.mustSend = other.mustSend;
        this.reply = other.reply;
    }

    /** Killed and, at some time, started again. */
    SimulatedServer restarted(Ownership fresh) {
        SimulatedServer next = new SimulatedServer(number, fresh);
        next.starts = starts + 1;
        return next;
    }

    String id() {
        return "s" + number + "." + starts;
    }

    String address() {
        return "s" + number;
    }

    boolean isAvailable() {
        return up && !paused && !cut;
    }

    /** The client whose lease is in memory, ended or not. */
    int holder() {
        return memory.isEmpty() ? NONE : memory.get(memory.size() - 1) % 2;
    }

    void addTo(Digest digest) {
        Ownership o = ownership;
        digest.add(starts)
                .add(up)
                .add(paused)
                .add(cut)
                .add(returning)
                .add(mustSend)
                .add(part);
        digest.add(o.phase().hashCode())
                .add(o.past())
                .add(o.seq())
                .add(o.pending())
                .add(o.refusal().hashCode())
                .add(o.stopping())
                .add(o.wakeMillis())
                .add(o.refusedSinceMillis());
        digest.add(o.claimed() == null ? 0 : o.claimed().writer().low());
        digest.add(memory).add(batches.size()).add(flying.size());
        for (Batch batch : batches) {
            digest.add(batch.entry()).add(batch.client()).add(batch.decidedAt());
        }
        for (Reply each : flying) {
            digest.add(Objects.hashCode(each.failure())).add(each.content());
        }
        digest.add(leaseEnd)
                .add(recoveringUntil)
                .add(servingSince)
                .add(claimedAt)
                .add(beatAt);
        digest.add(reply != null);
        if (reply != null) {
            digest.add(reply.failure() == null).add(reply.content());
            digest.add(reply.claim() == null ? 0 : reply.claim().hashCode());
        }
    }
}
