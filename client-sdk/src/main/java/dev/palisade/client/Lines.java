package dev.palisade.client;

import dev.palisade.contract.LockName;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The {@link Line}s of a client, by lock, while somebody waits in them. In the loop only. */
final class Lines {
    private final Session session;
    private final Map<LockName, Line> byLock = new HashMap<>();

    Lines(Session session) {
        this.session = session;
    }

    void join(Acquire acquire) {
        Line line = byLock.get(acquire.lock());
        if (!acquire.takesTurns() || (line != null && !line.fits(acquire))) {
            Place alone = new Place(session, acquire.lock(), acquire.options(), () -> {});
            alone.add(acquire);
            alone.begin();
        } else if (line == null) {
            begin(acquire);
        } else {
            line.join(acquire);
        }
    }

    private void begin(Acquire first) {
        LockName lock = first.lock();
        byLock.put(lock, new Line(session, first, () -> byLock.remove(lock)));
    }

    /** They waited for their turns of a lease that has ended: they are the next, before who came later. */
    void rejoin(List<Acquire> waiting) {
        List<Acquire> left =
                waiting.stream().filter(acquire -> !acquire.isOver()).toList();
        if (left.isEmpty()) {
            return;
        }
        if (session.closing()) {
            left.forEach(Acquire::clientClosed);
            return;
        }
        Line line = byLock.get(left.get(0).lock());
        if (line != null && line.fits(left.get(0))) {
            line.rejoin(left);
        } else {
            left.forEach(this::join);
        }
    }

    void left(Acquire acquire) {
        Line line = byLock.get(acquire.lock());
        if (line != null) {
            line.left(acquire);
        }
    }
}
