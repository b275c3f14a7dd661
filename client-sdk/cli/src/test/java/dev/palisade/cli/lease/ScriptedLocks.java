package dev.palisade.cli.lease;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveReply;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewReply;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ResumeReply;
import dev.palisade.proto.v1.ResumeRequest;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Lock server on loopback whose replies a test writes: {@link #next} for the next calls but describe, in order; without one a call
 * succeeds. {@link #calls} names them in order, each with the number of its session, by first appearance.
 */
final class ScriptedLocks implements AutoCloseable {
    /** What the client of a call sees whose connection breaks. */
    static final Status BROKEN = Status.UNAVAILABLE;
    /** As final for one attempt as a refused connection. */
    static final Status REFUSED = Status.INTERNAL;

    private final List<ByteString> sessions = Collections.synchronizedList(new ArrayList<>());
    private final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    private final List<Long> waits = Collections.synchronizedList(new ArrayList<>());
    private final Queue<Object> replies = new ConcurrentLinkedQueue<>();
    private final Server server;
    private volatile boolean deniesDescribe;

    ScriptedLocks() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new Service())
                .build()
                .start();
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    /** @param reply a message, a {@link Status} or a {@link Rejection} */
    void next(Object reply) {
        replies.add(reply);
    }

    /** From here on the client has no right to describe. */
    void denyDescribe() {
        deniesDescribe = true;
    }

    List<String> calls() {
        return List.copyOf(calls);
    }

    /** {@code wait_millis} of each acquire. */
    List<Long> waits() {
        return List.copyOf(waits);
    }

    /** @param number as in {@link #calls} */
    ByteString session(int number) {
        return sessions.get(number - 1);
    }

    static AcquireReply granted(String lock) {
        return AcquireReply.newBuilder()
                .setGranted(Granted.newBuilder()
                        .setLock(lock)
                        .setToken(33)
                        .setGrantId(ByteString.copyFrom(new byte[GrantId.BYTES]))
                        .setTtlMillis(60_000)
                        .setSequencer(ByteString.copyFromUtf8("signed")))
                .build();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private <T> void reply(String call, ByteString session, T otherwise, StreamObserver<T> out) {
        if (!sessions.contains(session)) {
            sessions.add(session);
        }
        calls.add(call + " " + (sessions.indexOf(session) + 1));
        Object reply = replies.poll();
        if (reply instanceof Status status) {
            out.onError(status.asRuntimeException());
        } else if (reply instanceof Rejection rejection) {
            out.onError(Rejections.toStatus(rejection));
        } else {
            @SuppressWarnings("unchecked")
            T scripted = (T) reply;
            out.onNext(scripted == null ? otherwise : scripted);
            out.onCompleted();
        }
    }

    private final class Service extends LocksGrpc.LocksImplBase {
        @Override
        public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
            if (deniesDescribe) {
                out.onError(Rejections.toStatus(new Rejection(Reason.PERMISSION_DENIED, "may not describe")));
                return;
            }
            out.onNext(DescribeReply.getDefaultInstance());
            out.onCompleted();
        }

        @Override
        public void acquire(AcquireRequest request, StreamObserver<AcquireReply> out) {
            waits.add(request.getWaitMillis());
            reply("acquire", request.getSessionId(), granted(request.getLock()), out);
        }

        @Override
        public void leave(LeaveRequest request, StreamObserver<LeaveReply> out) {
            reply("leave", request.getSessionId(), LeaveReply.getDefaultInstance(), out);
        }

        @Override
        public void renew(RenewRequest request, StreamObserver<RenewReply> out) {
            reply(
                    "renew",
                    request.getSessionId(),
                    RenewReply.newBuilder().setTtlMillis(60_000).build(),
                    out);
        }

        @Override
        public void resume(ResumeRequest request, StreamObserver<ResumeReply> out) {
            reply(
                    "resume",
                    request.getSessionId(),
                    ResumeReply.newBuilder().setTtlMillis(60_000).build(),
                    out);
        }

        @Override
        public void release(ReleaseRequest request, StreamObserver<ReleaseReply> out) {
            reply("release", request.getSessionId(), ReleaseReply.getDefaultInstance(), out);
        }
    }
}
