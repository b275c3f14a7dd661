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
 * Calls beside the stream, for what needs no session: the servers are tried in turn until one answers or the time is
 * over. Safe for use by many threads; each blocks its caller.
 */
final class UnaryCalls {
    private final Session session;
    private final Channels channels;

    UnaryCalls(Session session, Channels channels) {
        this.session = session;
        this.channels = channels;
    }

    /** An answer and who gave it. */
    private record Answered<T>(T reply, Channel by) {}

    /**
     * Asks what may be asked any number of times.
     *
     * @param about what it is about, for people
     * @throws LockUnavailableException when no server could say
     * @throws RejectedException when asking again would not help
     * @throws InterruptedException when interrupted; the outcome is unknown
     */
    <T> T ask(String about, Function<LocksBlockingStub, T> call) throws InterruptedException {
        return answered(about, call, deadline()).reply();
    }

    /**
     * Asks what must not be done twice: of a server that answers, once.
     *
     * @throws LockUnavailableException when no server could say; with OUTCOME_UNKNOWN it may have been done
     */
    <T> T askOnce(String lock, Function<LocksBlockingStub, T> call) throws InterruptedException {
        String about = "lock " + lock;
        Deadline deadline = deadline();
        DescribeRequest harmless = DescribeRequest.newBuilder().setLock(lock).build();
        Channel answering =
                answered(about, stub -> stub.describe(harmless), deadline).by();
        try {
            return call.apply(LocksGrpc.newBlockingStub(answering).withDeadline(deadline));
        } catch (StatusRuntimeException e) {
            throw failure(about, rejection(e));
        }
    }

    private <T> Answered<T> answered(String about, Function<LocksBlockingStub, T> call, Deadline deadline)
            throws InterruptedException {
        BlockingWait.checkInterrupt();
        List<? extends Channel> all = channels.all();
        Retry retry = new Retry();
        for (int attempt = 0; ; attempt++) {
            checkNotEnded();
            Channel channel = all.get(attempt % all.size());
            try {
                // One that is frozen must leave time for the others.
                Deadline share =
                        Deadline.after(session.settings().callTimeout().toNanos() / all.size(), TimeUnit.NANOSECONDS);
                T reply = call.apply(LocksGrpc.newBlockingStub(channel).withDeadline(deadline.minimum(share)));
                return new Answered<>(reply, channel);
            } catch (StatusRuntimeException e) {
                Rejection rejection = rejection(e);
                Remedy remedy = Remedy.of(rejection.reason());
                long delayNanos = retry.delayNanos(rejection);
                boolean again = remedy == Remedy.RETRY || remedy == Remedy.ASK_AGAIN;
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

    /** What the server said; of a call that broke nobody knows whether it was done. */
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

    /** Not for a call that was sent once: whether it was done matters more than why there is no answer. */
    private void checkNotEnded() {
        RuntimeException ended = session.ended();
        if (ended != null) {
            throw ended;
        }
    }

    private static RuntimeException failure(String about, Rejection rejection) {
        return switch (Remedy.of(rejection.reason())) {
            case RETRY, ASK_AGAIN -> new LockUnavailableException(about, rejection);
            case THROW, LOST, TELL -> rejection.asException();
        };
    }
}
