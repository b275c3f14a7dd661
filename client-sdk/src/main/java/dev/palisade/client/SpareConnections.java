package dev.palisade.client;

import com.google.protobuf.Int32Value;
import com.google.protobuf.StringValue;
import dev.palisade.proto.v1.LocksGrpc;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Status;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Warm standby connections to the servers without the session. After a takeover no client has to open one: those of a
 * whole fleet take longer than a lease lasts. Periodic health checks open each connection, keep it open, and show
 * whether it works. They also show a server that is active beside that of the session. A single server is checked on a
 * new connection now and then: a load balancer may lead to several. In the loop only.
 */
final class SpareConnections {
    /** Delay before the first check. A client that ends earlier needs no spare connection. */
    private static final long FIRST_NANOS = 1_000_000_000;
    /** Lock servers close a connection that has no calls for a minute. */
    private static final long REPLIED_NANOS = 20_000_000_000L;
    /** Longest time without a connection to a server that is back. */
    private static final long FAILED_NANOS = 5_000_000_000L;

    /** Delay before the first check of a single server. It doubles each time. */
    private static final long PROBE_NANOS = 20_000_000_000L;

    private static final long PROBE_NANOS_MAX = 3_600_000_000_000L;

    /** gRPC's health check, by wrappers that have its only field: the SDK has no dependency on the classes of its messages. */
    static final MethodDescriptor<StringValue, Int32Value> CHECK = MethodDescriptor.newBuilder(
                    ProtoUtils.marshaller(StringValue.getDefaultInstance()),
                    ProtoUtils.marshaller(Int32Value.getDefaultInstance()))
            .setType(MethodType.UNARY)
            .setFullMethodName("grpc.health.v1.Health/Check")
            .build();

    /** Status of {@code HealthCheckResponse}: the lock service's, of an active server. */
    static final int SERVING = 1;

    private final Loop loop;
    private final Channels channels;
    private final ActiveServersCheck activeServers;
    private final DoubleSupplier jitter;
    private final long timeoutNanos;

    @Nullable
    private Target used;

    private boolean begun;
    private boolean stopped;
    private long probeNanos = PROBE_NANOS;

    /**
     * @param jitter 0.0 (inclusive) to 1.0: spreads the checks of a fleet
     * @param timeoutNanos for the reply to one check
     */
    SpareConnections(Loop loop, Channels channels, DoubleSupplier jitter, long timeoutNanos) {
        this.loop = loop;
        this.channels = channels;
        this.jitter = jitter;
        this.timeoutNanos = timeoutNanos;
        this.activeServers = new ActiveServersCheck(loop, timeoutNanos);
    }

    /**
     * Sets the server of the session. With null there is none, and checks pause: attempts to connect use the channels.
     */
    void setActive(@Nullable Target server) {
        used = server;
        if (server != null && !begun) {
            begun = true;
            if (channels.several()) {
                channels.targets().forEach(target -> checkIn(FIRST_NANOS, target));
            }
            channels.probe().ifPresent(target -> checkIn(probeNanos, target));
        }
    }

    void stop() {
        stopped = true;
    }

    private void checkIn(long delayNanos, Target target) {
        loop.schedule(delayNanos - (long) (delayNanos * 0.5 * jitter.getAsDouble()), () -> check(target));
    }

    private void check(Target target) {
        if (stopped) {
            return;
        }
        if (!isSpare(target)) {
            checkIn(FAILED_NANOS, target);
            return;
        }
        target.checkSpare();
        ClientCall<StringValue, Int32Value> call = target.channel().newCall(CHECK, CallOptions.DEFAULT);
        TimerQueue.ScheduledTask timeout =
                loop.schedule(timeoutNanos, () -> call.cancel("no answer to a health check in time", null));
        ClientCalls.asyncUnaryCall(call, StringValue.of(LocksGrpc.SERVICE_NAME), new StreamObserver<>() {
            private boolean isActive;

            @Override
            public void onNext(Int32Value health) {
                // Any reply shows that the connection works, also that of a standby.
                isActive = health.getValue() == SERVING;
            }

            @Override
            public void onError(Throwable failure) {
                done(isReply(Status.fromThrowable(failure)));
            }

            @Override
            public void onCompleted() {
                done(true);
            }

            private void done(boolean replied) {
                loop.execute(() -> {
                    loop.cancel(timeout);
                    checked(target, replied, isActive);
                });
            }
        });
    }

    private void checked(Target target, boolean replied, boolean isActive) {
        Target server = used;
        if (server != null && isSpare(target)) {
            target.spareChecked(replied, loop.now().nanos());
            activeServers.checked(server, target, isActive);
        }
        if (channels.several()) {
            checkIn(replied ? REPLIED_NANOS : FAILED_NANOS, target);
            return;
        }
        // When both servers have been asked which they are: the next check is to be led anew.
        loop.schedule(2 * timeoutNanos, () -> target.channel().enterIdle());
        probeNanos = Math.min(PROBE_NANOS_MAX, 2 * probeNanos);
        checkIn(probeNanos, target);
    }

    private boolean isSpare(Target target) {
        return used != null && target != used;
    }

    /** Whether the status is that of a server, and not of gRPC without a connection. */
    private static boolean isReply(Status status) {
        return switch (status.getCode()) {
            case UNAVAILABLE, CANCELLED, DEADLINE_EXCEEDED -> false;
            default -> true;
        };
    }
}
