package dev.palisade.server.rpc;

import com.google.protobuf.Message;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.ResumeRequest;
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
 */
record RequiredVerb(Scope scope, @Nullable Verb verb, String lock) {
    /** Where the verb is needed. */
    enum Scope {
        /** For the lock of the request. */
        LOCK,
        /** For some lock; the reply is filtered. */
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
            return lock(Verb.ACQUIRE_SHARED, accept.getLock()); // The mode was decided by the acquire.
        } else if (request instanceof RenewRequest renew) {
            return lock(Verb.ACQUIRE_SHARED, renew.getLock());
        } else if (request instanceof ResumeRequest resume) {
            return lock(Verb.ACQUIRE_SHARED, resume.getLock());
        } else if (request instanceof DescribeRequest describe) {
            return lock(Verb.DESCRIBE, describe.getLock());
        } else if (request instanceof HistoryRequest history) {
            return lock(Verb.DESCRIBE, history.getLock());
        } else if (request instanceof RequestReleaseRequest revoke) {
            return lock(Verb.REVOKE, revoke.getLock());
        } else if (request instanceof ForceReleaseRequest force) {
            return lock(Verb.FORCE_RELEASE, force.getLock());
        } else if (request instanceof BarrierRequest barrier) {
            return lock(Verb.GUARD, barrier.getLock());
        } else if (request instanceof ListRequest) {
            return new RequiredVerb(Scope.SOME_LOCK, Verb.DESCRIBE, "");
        } else if (request instanceof SessionsRequest || request instanceof StoreRequest) {
            return new RequiredVerb(Scope.SERVER, Verb.OPERATE, "");
        } else if (request instanceof ClientFrame // Each call in it is checked by itself.
                || request instanceof ReleaseRequest
                || request instanceof LeaveRequest
                || request instanceof CheckSequencerRequest) {
            return new RequiredVerb(Scope.OWN, null, "");
        }
        return new RequiredVerb(Scope.UNKNOWN, null, "");
    }

    private static RequiredVerb lock(Verb verb, String lock) {
        return new RequiredVerb(Scope.LOCK, verb, lock);
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

    /** For messages: the verb. */
    String word() {
        return verb == null ? "call this" : verb.word();
    }
}
