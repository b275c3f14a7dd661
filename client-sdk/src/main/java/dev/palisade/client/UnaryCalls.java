package dev.palisade.client;

import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.LocksGrpc.LocksBlockingStub;
import io.grpc.Channel;
import io.grpc.Deadline;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Unary calls, which need no session: they try the servers in turn until one replies or the call timeout is over. They
 * block the caller. Safe for use by many threads.
 */
final class UnaryCalls {
    private final Session session;
    private final Channels channels;

    UnaryCalls(Session session, Channels channels) {
        this.session = session;
        this.channels = channels;
    }

    /** A reply and the channel to its server. */
    private record ServerReply<T>(T reply, Channel channel) {}

    /**
     * Executes an idempotent call.
     *
     * @param about subject of the call, for error texts
     * @throws LockUnavailableException when no server could say
     * @throws RejectedException when a retry would not help
     * @throws InterruptedException when interrupted; the outcome is unknown
     */
    <T> T execute(String about, Function<LocksBlockingStub, T> call) throws InterruptedException {
        return replyOf(about, call, deadline()).reply();
    }

    /**
     * Executes a call that must not be applied twice: sends it once, to a server that replies.
     *
     * @throws LockUnavailableException when no server could say; with OUTCOME_UNKNOWN it may have been done
     */
    <T> T executeOnce(String lock, Function<LocksBlockingStub, T> call) throws InterruptedException {
        String about = "lock " + lock;
        Deadline deadline = deadline();
        DescribeRequest harmless = DescribeRequest.newBuilder().setLock(lock).build();
        Channel answering =
                replyOf(about, stub -> stub.describe(harmless), deadline).channel();
        try {
            return call.apply(LocksGrpc.newBlockingStub(answering).withDeadline(deadline));
        } catch (StatusRuntimeException e) {
            throw failure(about, rejection(e));
        }
    }

    private <T> ServerReply<T> replyOf(String about, Function<LocksBlockingStub, T> call, Deadline deadline)
            throws InterruptedException {
        BlockingWait.checkInterrupt();
        List<? extends Channel> all = channels.all();
        RetryDelay retryDelay = new RetryDelay();
        for (int attempt = 0; ; attempt++) {
            checkNotEnded();
            Channel channel = all.get(attempt % all.size());
            try {
                // A frozen server must leave time for the others.
                Deadline share =
                        Deadline.after(session.settings().callTimeout().toNanos() / all.size(), TimeUnit.NANOSECONDS);
                T reply = call.apply(LocksGrpc.newBlockingStub(channel).withDeadline(deadline.minimum(share)));
                return new ServerReply<>(reply, channel);
            } catch (StatusRuntimeException e) {
                Rejection rejection = rejection(e);
                RejectionAction action = RejectionAction.of(rejection.reason());
                long delayNanos = retryDelay.nextNanos(rejection);
                boolean again = action == RejectionAction.RETRY || action == RejectionAction.RESEND;
                if (!again || deadline.timeRemaining(TimeUnit.NANOSECONDS) <= delayNanos) {
                    checkNotEnded();
                    throw failure(about, rejection);
                }
                if (attempt + 1 >= all.size()) {
                    session.pause(delayNanos);
                }
            }
        }
    }

    private Deadline deadline() {
        return Deadline.after(session.settings().callTimeout().toNanos(), TimeUnit.NANOSECONDS);
    }

    /** The rejection by the server; OUTCOME_UNKNOWN for a call that failed without one. */
    private Rejection rejection(StatusRuntimeException failure) throws InterruptedException {
        // gRPC cancels an interrupted call and sets the flag again.
        if (Thread.interrupted()) {
            throw new InterruptedException("interrupted while waiting for the lock server");
        }
        LinkageErrors.in(failure).ifPresent(linkage -> {
            throw LinkageErrors.exception(linkage);
        });
        return Rejections.ofThrowable(failure)
                .orElseGet(() -> new Rejection(
                        Reason.OUTCOME_UNKNOWN,
                        "no answer from the lock server at " + channels + " ("
                                + Connection.reason(failure)
                                + "); check that it runs and can be reached"));
    }

    /** Not for a call that was sent once: its unknown outcome matters more than the end of the client. */
    private void checkNotEnded() {
        RuntimeException ended = session.ended();
        if (ended != null) {
            throw ended;
        }
    }

    private static RuntimeException failure(String about, Rejection rejection) {
        return switch (RejectionAction.of(rejection.reason())) {
            case RETRY, RESEND -> new LockUnavailableException(about, rejection);
            case THROW, LEASE_LOST, REPORT -> rejection.asException();
        };
    }
}
