package dev.palisade.server.metrics;

import dev.palisade.contract.Reason;
import dev.palisade.server.core.Answer;
import dev.palisade.server.store.StoreFailure;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** The first answer to an acquire, as a label. */
enum AcquireOutcome {
    /** The lock was free, or the request had been granted before. */
    GRANTED,
    /** The request joined the queue, or is still in it. */
    QUEUED,
    /** A try that found the lock taken. */
    BUSY,
    /** A repeated request whose wait is over. */
    ENDED,
    /** The request was rejected; {@code palisade_refusals_total} has the reason. */
    REFUSED,
    /** The store did nothing. */
    UNAVAILABLE,
    /** The store may have decided, and the answer is lost. */
    UNKNOWN;

    /** Of what {@code LockStore.execute} completed with. */
    static AcquireOutcome of(@Nullable Answer answer, @Nullable Throwable failure) {
        if (failure != null) {
            Throwable cause =
                    failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
            return cause instanceof StoreFailure known && !known.isOutcomeUnknown() ? UNAVAILABLE : UNKNOWN;
        }
        if (answer instanceof Answer.Granted) {
            return GRANTED;
        }
        if (answer instanceof Answer.Queued) {
            return QUEUED;
        }
        if (answer instanceof Answer.Busy) {
            return BUSY;
        }
        if (answer instanceof Answer.Refused refused && refused.rejection().reason() == Reason.STORE_UNAVAILABLE) {
            return UNAVAILABLE; // Such as of a log that is full.
        }
        return answer instanceof Answer.WaitEnded ? ENDED : REFUSED;
    }
}
