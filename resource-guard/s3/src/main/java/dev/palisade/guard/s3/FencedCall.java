package dev.palisade.guard.s3;

import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Mark;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * One guarded call: reads the object's version, compares, and writes over exactly that version, again and again until
 * one of these ends it. Remembers tries without a clear reply, so that it never says "not applied" of a write that
 * may have been. Used by one thread.
 */
final class FencedCall {
    /** Each lost try means that another call on the same object was applied. */
    static final int TRIES_MAX = 20;

    private static final int CONFLICT = 409;
    static final int PRECONDITION_FAILED = 412;
    private static final int NOT_FOUND = 404;

    private final Bucket bucket;
    private final Sequencer sequencer;
    private final Binding binding;
    private final Access access;
    private final Set<WriteId> doubtful = new HashSet<>();
    private @Nullable WriteId lastDoubtful;
    private @Nullable SdkException whyDoubtful;
    private int tries;

    FencedCall(Bucket bucket, Sequencer sequencer, Binding binding, Access access) {
        this.bucket = bucket;
        this.sequencer = sequencer;
        this.binding = binding;
        this.access = access;
    }

    /**
     * Runs the tries of a call.
     *
     * @param attempt one try; null: another call came before it, try again
     * @throws RejectedException also DRAINING after {@link #TRIES_MAX} tries
     */
    <T> T run(Supplier<@Nullable T> attempt) {
        try {
            while (tries++ < TRIES_MAX) {
                T result = attempt.get();
                if (result != null) {
                    return result;
                }
            }
            throw S3FenceRejections.busy(binding.resource(), TRIES_MAX);
        } catch (RejectedException | S3Exception | IllegalStateException e) {
            WriteId mine = lastDoubtful;
            SdkException why = whyDoubtful;
            if (mine == null || why == null || isUnknown(e)) {
                throw e;
            }
            why.addSuppressed(e);
            throw S3FenceRejections.unknown(binding.resource(), mine, why);
        }
    }

    private static boolean isUnknown(RuntimeException e) {
        return e instanceof RejectedException rejected && rejected.reason() == Reason.OUTCOME_UNKNOWN;
    }

    String key() {
        return binding.resource();
    }

    /** The version to compare with. */
    ObjectState head() {
        return bucket.head(binding.resource());
    }

    /**
     * @return the raised mark
     * @throws RejectedException TOKEN_STALE or MODE_NOT_ALLOWED
     */
    Mark judge(ObjectState state) {
        state.mark().refusal(binding.resource(), sequencer, access, 0, 0).ifPresent(refusal -> {
            throw refusal.asException();
        });
        return state.mark().raisedBy(sequencer);
    }

    /** Whether a try of this call, which got no clear reply, made this version. */
    boolean made(ObjectState state) {
        WriteId writeId = state.writeId();
        return writeId != null && doubtful.contains(writeId);
    }

    /**
     * Sends a conditional write.
     *
     * @return whether it is known to be applied; if not, another call may have come before it
     * @throws RejectedException OUTCOME_UNKNOWN, or MARK_UNAVAILABLE
     * @throws S3Exception the store refuses the request itself; nothing was applied
     */
    boolean send(WriteId writeId, Runnable request) {
        try {
            request.run();
            return true;
        } catch (S3Exception e) {
            return failed(writeId, e);
        } catch (SdkException e) {
            return settled(writeId, e);
        } catch (RuntimeException e) {
            // The user's body cannot be read, perhaps for the second time.
            return settled(writeId, SdkException.create(String.valueOf(e.getMessage()), e));
        }
    }

    private boolean failed(WriteId writeId, S3Exception e) {
        int status = e.statusCode();
        // The client repeats requests by itself, and an earlier one may have been applied.
        boolean sentOnce = Integer.valueOf(1).equals(e.numAttempts());
        boolean gone = status == NOT_FOUND && !Bucket.isMissingBucket(e);
        if (status == PRECONDITION_FAILED || status == CONFLICT || gone) {
            if (!sentOnce || status == CONFLICT) {
                doubt(writeId, e);
            }
            return false;
        }
        if (status >= 500 || !sentOnce) {
            return settled(writeId, e);
        }
        if (status == 403 || status == NOT_FOUND) {
            throw S3FenceRejections.forbidden(binding.resource(), e);
        }
        throw e;
    }

    private boolean settled(WriteId writeId, SdkException why) {
        doubt(writeId, why);
        try {
            if (made(head())) {
                return true;
            }
        } catch (RejectedException e) {
            why.addSuppressed(e);
        }
        throw S3FenceRejections.unknown(binding.resource(), writeId, why);
    }

    private void doubt(WriteId writeId, SdkException why) {
        doubtful.add(writeId);
        lastDoubtful = writeId;
        whyDoubtful = why;
    }
}
