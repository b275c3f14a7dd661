package dev.palisade.server.admin;

import dev.palisade.contract.RejectedException;
import dev.palisade.proto.v1.ForceReleaseReply;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.RequestReleaseReply;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.server.rpc.InProcessClient;
import dev.palisade.server.rpc.LocksRpc;
import java.util.concurrent.CompletionStage;

/** Calls of the API that free a lock, from a body in JSON. With authentication the history names the principal. */
final class ReleaseCalls {
    private ReleaseCalls() {}

    static CompletionStage<RequestReleaseReply> request(InProcessClient client, String body, String lock) {
        RequestReleaseRequest.Builder asked = RequestReleaseRequest.newBuilder();
        ProtoJson.read(body, asked);
        checkUnnamed(asked.getLock());
        return client.call(
                LocksRpc::requestRelease,
                asked.setLock(lock).setBy(by(client, asked.getBy())).build());
    }

    static CompletionStage<ForceReleaseReply> force(InProcessClient client, String body, String lock) {
        ForceReleaseRequest.Builder asked = ForceReleaseRequest.newBuilder();
        ProtoJson.read(body, asked);
        checkUnnamed(asked.getLock());
        return client.call(
                LocksRpc::forceRelease,
                asked.setLock(lock).setBy(by(client, asked.getBy())).build());
    }

    private static void checkUnnamed(String lockOfBody) {
        if (!lockOfBody.isEmpty()) {
            throw RejectedException.malformed("the path names the lock; leave 'lock' out of the body");
        }
    }

    private static String by(InProcessClient client, String written) {
        if (client.principal().isEmpty()) {
            return written;
        }
        if (!written.isEmpty()) {
            throw RejectedException.malformed("the history names your principal; leave 'by' out of the body");
        }
        return client.principal();
    }
}
