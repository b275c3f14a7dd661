package dev.palisade.cli.lease;

import com.google.protobuf.ByteString;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LeaveReply;
import dev.palisade.proto.v1.LeaveRequest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One acquire by unary calls, repeated until a server decides. A server that replies without a decision, for instance because it stops,
 * keeps the request and its position in the queue; the repetition is the same request. A call that breaks is taken back by its server,
 * possibly later, and also if another server has granted the request by then. Such a request is therefore left first, and repeated as a
 * new request of a new session, at the end of the queue. No request is left behind: each is granted to the caller, has ended, or the
 * failure says that the lock may be held. The first server has to be reachable at once; a server that restarts later is waited for as
 * long as for the lock. For one thread.
 */
final class UnaryAcquire {
    static final long RETRY_MILLIS = 200;

    private final LockServers servers;
    private final AcquireRequest asked;
    private final SecureRandom random = new SecureRandom();
    private long begunNanos;

    /** {@link #asked} in the present session. */
    private AcquireRequest request;
    /** Whether {@link #request} was sent and may be waiting or granted. */
    private boolean pending;

    private long firstSentNanos;
    /** By a server that could not decide at that time. */
    private @Nullable Failed rejected;

    /** @param asked without a session */
    UnaryAcquire(LockServers servers, AcquireRequest asked) {
        this.servers = servers;
        this.asked = asked;
        this.request = inNewSession();
    }

    /**
     * The reply.
     *
     * @param credential of the lease, when granted
     * @param remainingMillis for which the lease is certain to hold, when granted
     */
    record Outcome(AcquireReply reply, LeaseCredential credential, long remainingMillis) {}

    /**
     * Blocks for the wait of the request at most, and the timeout of the calls.
     *
     * @throws Failed when no server could decide, or one rejected the request
     */
    Outcome acquire() throws Failed {
        reach();
        begunNanos = servers.nanos();
        while (true) {
            long sentNanos = servers.nanos();
            AcquireReply reply;
            try {
                reply = send(sentNanos);
            } catch (Failed e) {
                if (!e.reason().isEmpty()) {
                    rejected = e;
                }
                if (e.exitCode() != ExitCodes.NO_ANSWER
                        || elapsedMillis()
                                >= asked.getWaitMillis() + servers.timeout().toMillis()) {
                    throw withdrawn(saying(e));
                }
                prepareRepetition(e);
                continue;
            }
            try {
                return outcome(reply, sentNanos);
            } catch (Failed e) {
                throw withdrawn(e);
            }
        }
    }

    private AcquireRequest inNewSession() {
        byte[] session = new byte[SessionId.BYTES];
        random.nextBytes(session);
        return asked.toBuilder().setSessionId(ByteString.copyFrom(session)).build();
    }

    /** Detects a frozen server now, and not only when the wait is over. A refusal is a reply, too: to acquire needs no right to describe. */
    private void reach() throws Failed {
        try {
            var unused = servers.reach(asked.getLock());
        } catch (Failed e) {
            if (!e.reason().equals(Reason.PERMISSION_DENIED.name())) {
                throw e;
            }
        }
    }

    private AcquireReply send(long nowNanos) throws Failed {
        firstSentNanos = pending ? firstSentNanos : nowNanos;
        long wait = asked.getWaitMillis();
        // A wait of 0 is a try, which has another reply.
        long left = wait == 0 ? 0 : Math.max(1, wait - elapsedMillis());
        AcquireRequest sent = request.toBuilder()
                .setWaitMillis(left)
                .setAgeMillis(TimeUnit.NANOSECONDS.toMillis(nowNanos - firstSentNanos))
                .build();
        try {
            AcquireReply reply = servers.callOnce(Duration.ofMillis(left), stub -> stub.acquire(sent));
            pending = !reply.hasBusy() && !reply.hasTimedOut();
            return reply;
        } catch (Failed e) {
            pending |= e.exitCode() == ExitCodes.NO_ANSWER;
            throw e;
        }
    }

    private void prepareRepetition(Failed failure) throws Failed {
        try {
            servers.pause(RETRY_MILLIS);
            if (failure.reason().isEmpty()) {
                var unused = whileWaiting(this::leave);
                request = inNewSession();
            }
            var unused = whileWaiting(() -> {
                reach();
                return asked;
            });
        } catch (Failed e) {
            throw withdrawn(saying(e));
        }
    }

    /** The last attempt may have had a moment only: what a server said before is more than that it timed out. */
    private Failed saying(Failed failure) {
        Failed earlier = rejected;
        return earlier != null
                        && failure.exitCode() == ExitCodes.NO_ANSWER
                        && failure.reason().isEmpty()
                ? earlier
                : failure;
    }

    /** One call, or several. */
    @FunctionalInterface
    private interface Step<T> {
        T run() throws Failed;
    }

    /** Repeats {@code step} until a server replies or the wait is over: a server that restarts refuses connections meanwhile. */
    private <T> T whileWaiting(Step<T> step) throws Failed {
        while (true) {
            if (asked.getWaitMillis() > 0) {
                servers.restartTime();
            }
            try {
                return step.run();
            } catch (Failed e) {
                if (e.exitCode() != ExitCodes.NO_ANSWER || elapsedMillis() >= asked.getWaitMillis()) {
                    throw e;
                }
                servers.pause(RETRY_MILLIS);
            }
        }
    }

    private Outcome outcome(AcquireReply reply, long sentNanos) throws Failed {
        Granted granted = reply.getGranted();
        LeaseCredential credential = LeaseCredential.of(request, granted);
        if (!pending) {
            return new Outcome(reply, credential, 0);
        }
        if (!granted.getLock().equals(asked.getLock()) || granted.getToken() < 1 || !isSequencer(granted)) {
            throw new Failed(ExitCodes.NO_ANSWER, "", "the reply to acquire cannot be read");
        }
        if (granted.getLockAtLeastForMillis() != asked.getLockAtLeastForMillis()) {
            throw new Failed(
                    ExitCodes.NO_ANSWER,
                    "",
                    "the lock server does not know --at-least-for; upgrade it, or leave it out");
        }
        if (asked.getWaitMillis() == 0) {
            return new Outcome(reply, credential, remaining(granted.getTtlMillis(), sentNanos));
        }
        // After a wait the lease may have begun long ago or just now: a renewal gives it its full length from a known
        // time.
        return whileWaiting(() -> {
            long renewedNanos = servers.nanos();
            long ttl = servers.call(stub -> stub.renew(credential.renewal())).getTtlMillis();
            return new Outcome(reply, credential, remaining(ttl, renewedNanos));
        });
    }

    private static boolean isSequencer(Granted granted) {
        try {
            SignedSequencer.of(granted.getSequencer().toByteArray());
            return true;
        } catch (RejectedException e) {
            return false;
        }
    }

    /** Leaves the request, or releases what it was granted, before the command fails with {@code failure}. */
    Failed withdrawn(Failed failure) {
        if (!pending) {
            return failure;
        }
        try {
            servers.restartTime();
            var unused = leave();
            return failure;
        } catch (Failed e) {
            return new Failed(
                    failure.exitCode(),
                    failure.reason(),
                    failure.message() + "; if the lock was granted, it is free again when its lease expires");
        }
    }

    /** Ends the request, whatever it has come to; it is not granted either if it arrives later. */
    private LeaveReply leave() throws Failed {
        LeaveRequest leave = LeaveRequest.newBuilder()
                .setLock(request.getLock())
                .setRequestId(request.getRequestId())
                .setSessionId(request.getSessionId())
                .build();
        LeaveReply left = servers.call(stub -> stub.leave(leave));
        pending = false;
        return left;
    }

    private long elapsedMillis() {
        return TimeUnit.NANOSECONDS.toMillis(servers.nanos() - begunNanos);
    }

    private long remaining(long ttlMillis, long sentNanos) {
        return Math.max(0, ttlMillis - TimeUnit.NANOSECONDS.toMillis(servers.nanos() - sentNanos));
    }
}
