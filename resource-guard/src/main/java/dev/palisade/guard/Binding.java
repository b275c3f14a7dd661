package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.Texts;

/**
 * Which lock guards which resource: exactly one lock per resource, said by the service's own code or configuration and
 * never by the caller. Two bindings of one resource to different locks would compare tokens that have no order; nothing
 * here can see that, so bind each resource in one place.
 *
 * @param resource what is guarded and has a mark, 1 to 512 bytes of UTF-8 without control characters
 * @param lock the lock whose sequencers are accepted for it
 */
public record Binding(String resource, LockName lock) {
    /** The longest resource name, in bytes of UTF-8. */
    public static final int RESOURCE_BYTES_MAX = 512;

    /** @throws dev.palisade.contract.RejectedException MALFORMED_REQUEST when the resource is no such text */
    public Binding {
        // A lock's name was looked at when it became one, and by stricter rules.
        if (!resource.equals(lock.value())) {
            resource = Texts.checked("resource", resource, 1, RESOURCE_BYTES_MAX);
        }
    }

    /** The simple common case: the resource is called like its lock. */
    public static Binding of(String lock) {
        return new Binding(lock, new LockName(lock));
    }

    /** {@link #of(String)} for a lock that already has its type. */
    public static Binding of(LockName lock) {
        return new Binding(lock.value(), lock);
    }

    /**
     * Passes a verified sequencer of this lock whose mode is open to {@code access}; needs no mark.
     *
     * @throws dev.palisade.contract.RejectedException WRONG_RESOURCE or MODE_NOT_ALLOWED, in this order
     */
    public void require(Sequencer sequencer, Access access) {
        if (!sequencer.lock().equals(lock)) {
            throw new Rejection(
                            Reason.WRONG_RESOURCE,
                            "resource '" + resource + "' is guarded by lock '" + lock + "', the sequencer is of lock '"
                                    + sequencer.lock() + "'; send the sequencer of '" + lock + "'",
                            Verdict.metadata(resource, sequencer))
                    .asException();
        }
        if (!access.isOpenTo(sequencer.mode())) {
            throw modeNotAllowed(resource, sequencer).asException();
        }
    }

    static Rejection modeNotAllowed(String resource, Sequencer sequencer) {
        return new Rejection(
                Reason.MODE_NOT_ALLOWED,
                "a SHARED grant may only read '" + resource + "'; acquire lock '" + sequencer.lock()
                        + "' EXCLUSIVE to write",
                Verdict.metadata(resource, sequencer));
    }
}
