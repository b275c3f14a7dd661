package dev.palisade.server.rpc;

import com.google.protobuf.Message;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.server.access.Rights;
import dev.palisade.server.access.Verb;
import org.jspecify.annotations.Nullable;

/**
 * What a request needs: the one table, for unary calls and for those of a stream alike. A request that it does not know is denied.
 *
 * @param scope of which locks the verb is needed
 * @param verb null: to be authenticated is enough
 * @param lock empty: the request names none
 * @param isOfHeldLock whether it keeps, takes up or gives back what was granted before: to refuse it for its number would cost a lock
 */
record RequiredVerb(Scope scope, @Nullable Verb verb, String lock, boolean isOfHeldLock) {
    /** Where the verb is needed. */
    enum Scope {
        /** For the lock of the request. */
        LOCK,
        /** For some lock; what is of other locks is left out. */
        SOME_LOCK,
        /** For the whole server. */
        SERVER,
        /** Nowhere: the request acts on the caller's own session, or on what the caller can prove. */
        OWN,
        /** Not in the table. */
        UNKNOWN
    }

    static RequiredVerb of(Message request) {
        if (request instanceof AcquireRequest acquire) {
            return lock(acquire.getMode() == Mode.SHARED ? Verb.ACQUIRE_SHARED : Verb.ACQUIRE, acquire.getLock());
        } else if (request instanceof AcceptRequest accept) {
            return held(accept.getLock()); // The mode was decided by the acquire.
        } else if (request instanceof RenewRequest renew) {
            return held(renew.getLock());
        } else if (request instanceof ResumeRequest resume) {
            return held(resume.getLock());
        } else if (request instanceof ResumedGrant grant) { // One of several that are resumed together.
            return held(grant.getLock());
        } else if (request instanceof DescribeRequest describe) {
            return lock(Verb.DESCRIBE, describe.getLock());
        } else if (request instanceof HistoryRequest history) {
            return lock(Verb.DESCRIBE, history.getLock());
        } else if (request instanceof ExplainRequest explain) {
            return lock(Verb.DESCRIBE, explain.getLock());
        } else if (request instanceof RequestReleaseRequest revoke) {
            return lock(Verb.REVOKE, revoke.getLock());
        } else if (request instanceof ForceReleaseRequest force) {
            return lock(Verb.FORCE_RELEASE, force.getLock());
        } else if (request instanceof BarrierRequest barrier) {
            return lock(Verb.GUARD, barrier.getLock());
        } else if (request instanceof ListRequest) {
            return new RequiredVerb(Scope.SOME_LOCK, Verb.DESCRIBE, "", false);
        } else if (request instanceof ReportRefusalsRequest) {
            return new RequiredVerb(Scope.SOME_LOCK, Verb.GUARD, "", false);
        } else if (request instanceof SessionsRequest || request instanceof StoreRequest) {
            return new RequiredVerb(Scope.SERVER, Verb.OPERATE, "", false);
        } else if (request instanceof ClientFrame // Each call in it is checked by itself.
                || request instanceof ReleaseRequest) {
            return new RequiredVerb(Scope.OWN, null, "", true);
        } else if (request instanceof LeaveRequest leave) {
            return held(leave.getLock()); // It is remembered, also of a request that never came.
        } else if (request instanceof CheckSequencerRequest) {
            return new RequiredVerb(Scope.OWN, null, "", false);
        }
        return new RequiredVerb(Scope.UNKNOWN, null, "", false);
    }

    private static RequiredVerb lock(Verb verb, String lock) {
        return new RequiredVerb(Scope.LOCK, verb, lock, false);
    }

    private static RequiredVerb held(String lock) {
        return new RequiredVerb(Scope.LOCK, Verb.ACQUIRE_SHARED, lock, true);
    }

    boolean isAllowed(Rights rights) {
        return switch (scope) {
            case LOCK -> verb != null && rights.may(verb, lock);
            case SOME_LOCK -> verb != null && rights.mayAnywhere(verb);
            case SERVER -> rights.mayOperate();
            case OWN -> true;
            case UNKNOWN -> false;
        };
    }

    /** For messages: the verb. Of a held lock, whose mode only the grant knows, the one that is enough for any. */
    String word() {
        if (verb == null) {
            return "call this";
        }
        return scope == Scope.LOCK && isOfHeldLock ? Verb.ACQUIRE.word() : verb.word();
    }
}
