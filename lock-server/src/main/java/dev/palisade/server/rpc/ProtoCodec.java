package dev.palisade.server.rpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.Texts;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.Resume;
import dev.palisade.server.engine.LockEngine.AcquireParams;
import dev.palisade.server.engine.LockEngine.ReclaimEvidence;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Messages to values. Whatever is out of range is MALFORMED_REQUEST, saying which field and what to do. */
record ProtoCodec(Limits limits) {
    /** Every store compares generations exactly: Redis keeps numbers as doubles. Also below what stands for the client itself. */
    static final long SESSION_GEN_MAX = (1L << 53) - 1;

    private static final int TEXT_BYTES_MAX = 256;
    private static final int PAGE_SIZE_DEFAULT = 100;
    private static final int PAGE_SIZE_MAX = 1_000;

    /** @param owner of the stream; null for a unary call, which names its own */
    AcquireParams acquire(AcquireRequest request, SessionId session, String owner) {
        if (request.getTurns() > 1 && request.getMode() != dev.palisade.proto.v1.Mode.EXCLUSIVE) {
            throw RejectedException.malformed(
                    "turns is " + request.getTurns() + " for a SHARED lock, which many hold at once; leave it out");
        }
        if (request.getLockAtLeastForMillis() > 0 && request.getMode() != dev.palisade.proto.v1.Mode.EXCLUSIVE) {
            throw RejectedException.malformed("lock_at_least_for_millis is " + request.getLockAtLeastForMillis()
                    + " for a SHARED lock; leave it out, or acquire EXCLUSIVE");
        }
        return new AcquireParams(
                lock(request.getLock()),
                new RequestId(session, request.getRequestId()),
                mode(request.getMode(), request.getModeValue()),
                ttl(request.getTtlMillis()),
                within("wait_millis", request.getWaitMillis(), 0, limits.waitMaxMillis()),
                lockDelay(request.getLockDelayMillis()),
                lockAtLeastFor(request.getLockAtLeastForMillis()),
                within("age_millis", request.getAgeMillis(), 0, Long.MAX_VALUE),
                text("owner", owner),
                text("purpose", request.getPurpose()),
                (int) Math.max(1, within("turns", request.getTurns(), 0, FencingToken.PER_GRANT)));
    }

    /** @param owner of the stream, or named by a unary call */
    Optional<ReclaimEvidence> shown(ResumeRequest request, String owner) {
        if (request.getSequencer().isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new ReclaimEvidence(
                SignedSequencer.of(request.getSequencer().toByteArray()),
                RequestId.checked(request.getRequestId()),
                ttl(request.getTtlMillis()),
                lockDelay(request.getLockDelayMillis()),
                lockAtLeastFor(request.getLockAtLeastForMillis()),
                text("owner", owner),
                text("purpose", request.getPurpose())));
    }

    /** @throws RejectedException MALFORMED_REQUEST, which names the grant that is at fault */
    static List<Resume> resumes(List<ResumedGrant> grants, SessionId session, long sessionGen) {
        List<Resume> resumes = new ArrayList<>(grants.size());
        Set<GrantId> ids = new HashSet<>();
        for (ResumedGrant named : grants) {
            String where = "grants[" + resumes.size() + "]: ";
            try {
                GrantId id = grant(named.getGrantId());
                if (!ids.add(id)) {
                    throw RejectedException.malformed("grant_id " + id + " is named twice; name each grant once");
                }
                resumes.add(new Resume(lock(named.getLock()), id, token(named.getToken()), session, sessionGen));
            } catch (RejectedException e) {
                throw RejectedException.malformed(where + e.rejection().message());
            }
        }
        return resumes;
    }

    private long ttl(long millis) {
        return millis == 0
                ? limits.ttlDefaultMillis()
                : within("ttl_millis", millis, limits.ttlMinMillis(), limits.ttlMaxMillis());
    }

    private long lockDelay(long millis) {
        return within("lock_delay_millis", millis, 0, limits.lockDelayMaxMillis());
    }

    private long lockAtLeastFor(long millis) {
        return within("lock_at_least_for_millis", millis, 0, limits.lockAtLeastForMaxMillis());
    }

    static LockName lock(String name) {
        return new LockName(name);
    }

    static GrantId grant(ByteString bytes) {
        return GrantId.of(bytes.toByteArray());
    }

    static SessionId session(ByteString bytes) {
        return SessionId.of(bytes.toByteArray());
    }

    static FencingToken token(long value) {
        return new FencingToken(value);
    }

    static String text(String what, String value) {
        return Texts.checked(what, value, 0, TEXT_BYTES_MAX);
    }

    static String prefix(String value) {
        return Texts.checked("prefix", value, 0, LockName.BYTES_MAX);
    }

    static int pageSize(int value) {
        return value == 0 ? PAGE_SIZE_DEFAULT : (int) within("page_size", value, 1, PAGE_SIZE_MAX);
    }

    /** What must be said: who, and why. */
    static String said(String what, String value) {
        return Texts.checked(what, value, 1, TEXT_BYTES_MAX);
    }

    /** @param number what {@code mode} is on the wire */
    private static Mode mode(dev.palisade.proto.v1.Mode mode, int number) {
        return switch (mode) {
            case EXCLUSIVE -> Mode.EXCLUSIVE;
            case SHARED -> Mode.SHARED;
            case MODE_UNSPECIFIED -> throw RejectedException.malformed("mode is not set; use EXCLUSIVE or SHARED");
            case UNRECOGNIZED ->
                throw RejectedException.malformed(
                        "mode is " + number + ", which this server does not know; use EXCLUSIVE or SHARED");
        };
    }

    static long within(String field, long value, long min, long max) {
        if (value < min || value > max) {
            throw RejectedException.malformed(field + " is " + value + "; use " + min + " to " + max);
        }
        return value;
    }
}
