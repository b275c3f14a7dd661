package dev.palisade.guard;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;

/** Request to one running call to stop, because a newer grant waits for it: made once, and kept for listeners that come later. */
final class StopRequest {
    private static final System.Logger LOG = System.getLogger(StopRequest.class.getName());

    private final List<Runnable> listeners = new ArrayList<>();
    private boolean made;

    /** Runs {@code listener} once when the request is made; at once if it was made. */
    void onMade(Runnable listener) {
        synchronized (listeners) {
            if (!made) {
                listeners.add(listener);
                return;
            }
        }
        listener.run();
    }

    /** Returns whether it was not made before. */
    boolean make() {
        List<Runnable> told;
        boolean first;
        synchronized (listeners) {
            first = !made;
            made = true;
            told = List.copyOf(listeners);
            listeners.clear();
        }
        for (Runnable listener : told) {
            try {
                listener.run();
            } catch (RuntimeException | Error e) {
                LOG.log(Level.ERROR, "what was to stop a superseded call threw; the call may go on", e);
            }
        }
        return first;
    }
}
