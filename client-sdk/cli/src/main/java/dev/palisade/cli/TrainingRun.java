package dev.palisade.cli;

import com.google.protobuf.ByteString;
import dev.palisade.contract.GrantId;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Epoch;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * Training run for the class-data archive of this jar: runs commands in one process against a server of its own on loopback, so that
 * their classes are in the archive. The launcher and the build start it; it never calls another server unless its arguments say so.
 */
final class TrainingRun {
    private static final String LOCK = "training";

    private TrainingRun() {}

    public static void main(String[] args) throws IOException {
        System.exit(run(args));
    }

    /**
     * Returns 0 when every command succeeded.
     *
     * @param more one more command to run, such as {@code run}; may be empty
     */
    static int run(String... more) throws IOException {
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .directExecutor()
                .addService(new Locks())
                .build()
                .start();
        String[] to = {"--server", "127.0.0.1:" + server.getPort()};
        int failed = Main.run("version")
                + Main.run("describe", LOCK, to[0], to[1])
                + Main.run("describe", LOCK, to[0], to[1], "--json")
                + Main.run("acquire", LOCK, "--wait", "0s", to[0], to[1])
                + (more.length == 0 ? 0 : Main.run(more));
        server.shutdownNow();
        return failed;
    }

    /** Replies of which a command prints every part. */
    private static final class Locks extends LocksGrpc.LocksImplBase {
        @Override
        public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
            out.onNext(DescribeReply.newBuilder()
                    .setLock(request.getLock())
                    .addHolders(Holder.newBuilder().setMode(Mode.EXCLUSIVE))
                    .setHoldersTotal(1)
                    .setEpoch(Epoch.getDefaultInstance())
                    .build());
            out.onCompleted();
        }

        @Override
        public void acquire(AcquireRequest request, StreamObserver<AcquireReply> out) {
            Granted granted = Granted.newBuilder()
                    .setLock(request.getLock())
                    .setToken(1)
                    .setGrantId(ByteString.copyFrom(new byte[GrantId.BYTES]))
                    .setSequencer(ByteString.copyFromUtf8(LOCK))
                    .build();
            out.onNext(AcquireReply.newBuilder().setGranted(granted).build());
            out.onCompleted();
        }
    }
}
