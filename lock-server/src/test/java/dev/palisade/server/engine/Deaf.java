package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.End;
import dev.palisade.server.core.Grant;
import java.util.ArrayList;
import java.util.List;

/** A stream that nobody reads; it counts what its holder is asked for. */
final class Deaf implements Peer {
    final List<GrantId> asked = new ArrayList<>();
    final List<Rejection> deposed = new ArrayList<>();

    @Override
    public void offered(LockName lock, Grant grant, int turns, long offerMillis, long seenSentNanos) {}

    @Override
    public void lost(LockName lock, GrantId grant, End end, String detail) {}

    @Override
    public void releaseRequested(LockName lock, GrantId grant, String by, String why) {
        asked.add(grant);
    }

    @Override
    public void waitEnded(LockName lock, long requestNumber, End end) {}

    @Override
    public void flush() {}

    @Override
    public void superseded() {}

    @Override
    public void deposed(Rejection why) {
        deposed.add(why);
    }
}
