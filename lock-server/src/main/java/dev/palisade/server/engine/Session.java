package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One stream of a client process: what was granted to, resumed on and waited for on it. A reconnect makes a new one with
 * the next generation; what it does not take over is abandoned with the old one's generation, which the lock record
 * refuses if the newer stream spoke first.
 */
public final class Session {
    private final SessionId id;
    private final long gen;
    private final String owner;
    private final boolean keepLeasesOnDisconnect;
    private final Peer peer;
    private final String principal;
    private final Map<GrantId, Held> held = new HashMap<>();
    /** With the turns that were asked for. */
    private final Map<Waiting, Integer> waiting = new HashMap<>();

    private final FrameTimes frames = new FrameTimes();
    private final String fingerprint;
    private final long connectedAtMillis;
    private long heardAtMillis;

    private volatile boolean connected = true;
    private volatile boolean abandoned;
    private volatile @Nullable EndCause endCause;

    /** @param grant as it was when it was granted to or resumed on this stream: what it takes to reclaim it */
    record Held(LockName lock, Grant grant) {}

    record Waiting(LockName lock, long requestNumber) {}

    Session(
            SessionId id,
            long gen,
            String owner,
            boolean keepLeasesOnDisconnect,
            Peer peer,
            String principal,
            long nowMillis) {
        this.id = id;
        this.gen = gen;
        this.owner = owner;
        this.keepLeasesOnDisconnect = keepLeasesOnDisconnect;
        this.peer = peer;
        this.principal = principal;
        this.fingerprint = id.fingerprint();
        this.connectedAtMillis = nowMillis;
        this.heardAtMillis = nowMillis;
    }

    public SessionId id() {
        return id;
    }

    public long gen() {
        return gen;
    }

    public String owner() {
        return owner;
    }

    boolean keepsLeasesOnDisconnect() {
        return keepLeasesOnDisconnect;
    }

    Peer peer() {
        return peer;
    }

    /** Empty without authentication. */
    String principal() {
        return principal;
    }

    String fingerprint() {
        return fingerprint;
    }

    boolean isConnected() {
        return connected;
    }

    void markDisconnected() {
        connected = false;
    }

    /** The first that is told stays: what follows from it is not the cause. */
    synchronized void endsBy(EndCause cause) {
        endCause = endCause == null ? cause : endCause;
    }

    /** Why the stream ended, and its leases with it. */
    EndCause endCause() {
        EndCause told = endCause;
        return told == null ? EndCause.CONNECTION_BROKE : told;
    }

    boolean isAbandoned() {
        return abandoned;
    }

    void markAbandoned() {
        abandoned = true;
    }

    synchronized void frameArrived(long nowMillis, long sentNanos) {
        heardAtMillis = nowMillis;
        frames.arrived(nowMillis, sentNanos);
    }

    /** When its newest frame came. */
    synchronized long heardAtMillis() {
        return heardAtMillis;
    }

    synchronized long sentBefore(long decidedAtMillis) {
        return frames.sentBefore(decidedAtMillis);
    }

    synchronized int size() {
        return held.size() + waiting.size();
    }

    /** Returns whether the request is new to this stream. */
    synchronized boolean waits(Waiting request, int turns) {
        return waiting.putIfAbsent(request, turns) == null;
    }

    synchronized boolean isWaiting(Waiting request) {
        return waiting.containsKey(request);
    }

    /** How many the request asked for. */
    synchronized int turns(Waiting request) {
        return waiting.getOrDefault(request, 1);
    }

    synchronized void holds(Grant grant, LockName lock) {
        waiting.remove(new Waiting(lock, grant.request().id().number()));
        held.put(grant.id(), new Held(lock, grant));
    }

    synchronized Optional<Held> held(GrantId grant) {
        return Optional.ofNullable(held.get(grant));
    }

    /** Whether the stream holds it, as far as its replies say. */
    public synchronized boolean holds(GrantId grant) {
        return held.containsKey(grant);
    }

    /** The request is not waited for any more. */
    synchronized void waitsNoMore(Waiting request) {
        waiting.remove(request);
    }

    /** The grant is not held any more; returns whether it was. */
    synchronized boolean holdsNoMore(GrantId grant) {
        return held.remove(grant) != null;
    }

    synchronized SessionPage.Listed listed() {
        return new SessionPage.Listed(
                id,
                owner,
                principal,
                gen,
                connected,
                connectedAtMillis,
                heardAtMillis,
                held.size(),
                waiting.size(),
                keepLeasesOnDisconnect);
    }

    synchronized Map<GrantId, Held> held() {
        return new HashMap<>(held);
    }

    synchronized List<Waiting> waiting() {
        return new ArrayList<>(waiting.keySet());
    }
}
