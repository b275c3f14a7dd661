package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.AcceptRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ResumeManyRequest;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ResumedGrant;
import java.util.List;

/** Factory methods for the calls about one grant or several. Pure. */
final class GrantCalls {
    private GrantCalls() {}

    static ByteString bytes(SessionId id) {
        return ByteString.copyFrom(id.toBytes());
    }

    static Call.Builder accept(Grant grant, SessionId session) {
        return Call.newBuilder()
                .setAccept(AcceptRequest.newBuilder()
                        .setLock(grant.lock().value())
                        .setGrantId(ProtoMapper.bytes(grant.id()))
                        .setToken(grant.token().value())
                        .setSessionId(bytes(session)));
    }

    /** Resumes a grant, with the evidence that a server needs if its store has lost the grant. */
    static Call.Builder resume(Grant grant, Grant.RequestParams asked, SessionId session, long generation) {
        return Call.newBuilder()
                .setResume(ResumeRequest.newBuilder()
                        .setSequencer(ByteString.copyFrom(grant.sequencer().toBytes()))
                        .setRequestId(asked.requestId())
                        .setTtlMillis(grant.ttlMillis())
                        .setLockDelayMillis(asked.lockDelayMillis())
                        .setLockAtLeastForMillis(asked.lockAtLeastForMillis())
                        .setPurpose(asked.purpose())
                        .setLock(grant.lock().value())
                        .setGrantId(ProtoMapper.bytes(grant.id()))
                        .setToken(grant.token().value())
                        .setSessionId(bytes(session))
                        .setSessionGen(generation));
    }

    /** Resumes many grants, without the evidence that a store needs after a loss of data. */
    static Call.Builder resume(List<Grant> grants) {
        ResumeManyRequest.Builder request = ResumeManyRequest.newBuilder();
        for (Grant grant : grants) {
            request.addGrants(ResumedGrant.newBuilder()
                    .setLock(grant.lock().value())
                    .setGrantId(ProtoMapper.bytes(grant.id()))
                    .setToken(grant.token().value()));
        }
        return Call.newBuilder().setResumeMany(request);
    }

    static Call.Builder renew(Grant grant) {
        return Call.newBuilder()
                .setRenew(RenewRequest.newBuilder()
                        .setLock(grant.lock().value())
                        .setGrantId(ProtoMapper.bytes(grant.id()))
                        .setToken(grant.token().value()));
    }

    static Call.Builder release(Grant grant) {
        return Call.newBuilder()
                .setRelease(ReleaseRequest.newBuilder()
                        .setLock(grant.lock().value())
                        .setGrantId(ProtoMapper.bytes(grant.id()))
                        .setToken(grant.token().value()));
    }
}
