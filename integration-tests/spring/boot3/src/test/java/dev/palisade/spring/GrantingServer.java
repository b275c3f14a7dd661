package dev.palisade.spring;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.KeepAliveReply;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.Welcome;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Stub of a lock server on loopback, for one client: grants every acquire with the next token and signs its sequencer. It holds no
 * locks. Safe for use by many threads.
 */
final class GrantingServer extends LocksGrpc.LocksImplBase implements AutoCloseable {
    private static final long TTL_MILLIS = 10_000;

    private final KeysetFile keyset;
    private final Server server;
    private final AtomicLong tokens = new AtomicLong(1_000 * FencingToken.PER_GRANT + 1L);
    private volatile Runnable onRelease = () -> {};

    GrantingServer(KeysetFile keyset) throws IOException {
        this.keyset = keyset;
        this.server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(this)
                .build()
                .start();
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    /** Runs before the reply to each release from now on. */
    void onRelease(Runnable listener) {
        onRelease = listener;
    }

    @Override
    public StreamObserver<ClientFrame> session(StreamObserver<ServerFrame> out) {
        return new StreamObserver<>() {
            @Override
            public void onNext(ClientFrame frame) {
                out.onNext(reply(frame));
            }

            @Override
            public void onError(Throwable t) {
                // The client is closed.
            }

            @Override
            public void onCompleted() {
                out.onCompleted();
            }
        };
    }

    private ServerFrame reply(ClientFrame frame) {
        ServerFrame.Builder reply = ServerFrame.newBuilder().setSeenSentNanos(frame.getSentNanos());
        if (frame.hasHello()) {
            reply.setWelcome(Welcome.newBuilder()
                    .setIssuer("palisade")
                    .setGraceMillis(1_000)
                    .setTtlMinMillis(1_000)
                    .setTtlMaxMillis(300_000)
                    .setCallsInFlightMax(100));
        }
        if (frame.hasKeepAlive()) {
            reply.setKeepAlive(KeepAliveReply.newBuilder()
                    .setKeepAliveId(frame.getKeepAlive().getKeepAliveId()));
        }
        frame.getCallsList().forEach(call -> reply.addReplies(reply(call)));
        return reply.build();
    }

    private Reply.Builder reply(Call call) {
        Reply.Builder reply = Reply.newBuilder().setCallId(call.getCallId());
        return switch (call.getCallCase()) {
            case ACQUIRE -> reply.setAcquire(AcquireReply.newBuilder().setGranted(granted(call.getAcquire())));
            case RELEASE -> {
                onRelease.run();
                yield reply.setRelease(ReleaseReply.getDefaultInstance());
            }
            default -> throw new IllegalStateException("unexpected call " + call);
        };
    }

    private Granted granted(AcquireRequest acquire) {
        long token = tokens.getAndAdd(FencingToken.PER_GRANT);
        GrantId grant = new GrantId(7, token * FencingToken.PER_GRANT);
        Sequencer sequencer = new Sequencer(
                "palisade", new LockName(acquire.getLock()), Mode.EXCLUSIVE, new FencingToken(token), grant, 0);
        return Granted.newBuilder()
                .setLock(acquire.getLock())
                .setMode(acquire.getMode())
                .setToken(token)
                .setGrantId(ByteString.copyFrom(grant.toBytes()))
                .setTtlMillis(acquire.getTtlMillis() == 0 ? TTL_MILLIS : acquire.getTtlMillis())
                .setSequencer(ByteString.copyFrom(keyset.sign(sequencer).toBytes()))
                .build();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }
}
