package dev.palisade.guard;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Admission state of a guard: the reasons why it admits no calls, and the listeners of its health. Each part of the guard
 * sets and clears a reason of its own; the oldest one is the answer to a call. Safe for use by many threads.
 */
final class ServingState {
    private static final System.Logger LOG = System.getLogger(ServingState.class.getName());

    private record Impairment(Rejection why, boolean refuses) {}

    /** By the part of the guard that is impaired. */
    private final Map<Object, Impairment> impairments = new LinkedHashMap<>();

    private final List<Consumer<Boolean>> listeners = new ArrayList<>();
    private volatile @Nullable Rejection refusal;
    private volatile boolean serving = true;

    /** From now on every call is refused with {@code why}, until {@code source} is cleared. */
    void refuse(Object source, Rejection why) {
        set(source, new Impairment(why, true));
    }

    /** The guard does not serve until {@code source} is cleared; calls wait or go on, and {@code why} is for those that wait in vain. */
    void impair(Object source, Rejection why) {
        set(source, new Impairment(why, false));
    }

    synchronized void clear(Object source) {
        impairments.remove(source);
        changed();
    }

    /** For good; a reason that was there before stays the answer to calls. */
    void close() {
        refuse(this, new Rejection(Reason.MARK_UNAVAILABLE, "the guard is closed; nothing was applied"));
    }

    /** Why every call is refused now; null while none is. */
    @Nullable
    Rejection refusal() {
        return refusal;
    }

    /** @throws dev.palisade.contract.RejectedException when every call is refused */
    void requireOpen() {
        Rejection why = refusal;
        if (why != null) {
            throw why.asException();
        }
    }

    boolean isServing() {
        return serving;
    }

    /** Notifies {@code listener} now and at each change, in order. */
    synchronized void onChange(Consumer<Boolean> listener) {
        listeners.add(listener);
        notify(listener);
    }

    /** Why the guard does not serve, first of all what refuses every call; null while it serves. */
    synchronized @Nullable Rejection impairment() {
        return refusal != null
                ? refusal
                : impairments.values().stream().map(Impairment::why).findFirst().orElse(null);
    }

    private synchronized void set(Object source, Impairment impairment) {
        impairments.put(source, impairment);
        changed();
    }

    private void changed() {
        refusal = impairments.values().stream()
                .filter(Impairment::refuses)
                .map(Impairment::why)
                .findFirst()
                .orElse(null);
        boolean now = impairments.isEmpty();
        if (serving != now) {
            serving = now;
            listeners.forEach(this::notify);
        }
    }

    private void notify(Consumer<Boolean> listener) {
        try {
            listener.accept(serving);
        } catch (RuntimeException e) {
            LOG.log(Level.ERROR, "a listener of the guard's health threw; what it reports may be wrong", e);
        }
    }
}
