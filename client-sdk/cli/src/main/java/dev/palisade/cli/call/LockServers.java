package dev.palisade.cli.call;

import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.TransportFailures;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.LocksGrpc.LocksBlockingStub;
import io.grpc.ChannelCredentials;
import io.grpc.Deadline;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Deadline-bound unary calls to the first of several lock servers that replies. It retries while a server cannot
 * decide, such as one whose store is recovering, and fails at once when every server refuses the connection or its TLS,
 * or is a standby of a server that it was not given. It never holds a session. For one thread.
 */
public final class LockServers implements AutoCloseable {
    private static final long RETRY_MILLIS_MIN = 50;
    private static final long RETRY_MILLIS_MAX = 1_000;

    private final Connections connections;
    private final Duration timeout;
    private final RetryClock clock;
    private Deadline deadline;

    /**
     * Starts the time.
     *
     * @param addresses {@code host:port}, several separated by commas
     * @param credentials for each of them
     * @param timeout of all calls together, until {@link #restartTime}
     * @param clock for {@link #pause} and {@link #nanos}; deadlines of calls are always in real time
     */
    public LockServers(String addresses, ChannelCredentials credentials, Duration timeout, RetryClock clock)
            throws Failed {
        this.connections = Connections.to(addresses, credentials, timeout);
        this.timeout = timeout;
        this.clock = clock;
        this.deadline = after(timeout);
    }

    /** Limit of all calls together, until {@link #restartTime}. */
    public Duration timeout() {
        return timeout;
    }

    /** Nanoseconds on a monotonic clock. */
    public long nanos() {
        return clock.nanos();
    }

    /** Gives the calls from here on the full timeout again. */
    public void restartTime() {
        deadline = after(timeout);
    }

    /**
     * Sends a call that may safely be sent again.
     *
     * @throws Failed with {@link ExitCodes#NO_ANSWER}, or with {@link ExitCodes#REJECTED} and the reason
     */
    public <T> T call(Function<LocksBlockingStub, T> call) throws Failed {
        long retryMillis = RETRY_MILLIS_MIN;
        Map<String, Attempt> earlier = new HashMap<>();
        while (true) {
            List<Attempt> failures = new ArrayList<>();
            for (int i = 0; i < connections.count(); i++) {
                try {
                    // The preferred connection stays where it is for the calls that follow.
                    return call.apply(stub(deadline.minimum(after(timeout.dividedBy(connections.count())))));
                } catch (StatusRuntimeException e) {
                    failures.add(saying(failed(e), earlier));
                    connections.next();
                }
            }
            if (failures.stream().noneMatch(failure -> failure.activeElsewhere().isEmpty())) {
                throw standbysOnly(failures);
            }
            long delay = Math.max(retryMillis, failures.get(0).retryAfterMillis());
            if (failures.stream().allMatch(Attempt::isFinal)
                    || deadline.timeRemaining(TimeUnit.MILLISECONDS) <= delay) {
                throw noReply(failures);
            }
            pause(delay);
            retryMillis = Math.min(RETRY_MILLIS_MAX, retryMillis * 2);
        }
    }

    /**
     * Asks each server once for a description of {@code lock}.
     *
     * @return why {@link #call} would fail, if all servers are standbys of a server that was not given; else empty
     */
    public Optional<String> onlyStandbys(String lock) {
        DescribeRequest request = DescribeRequest.newBuilder().setLock(lock).build();
        List<Attempt> standbys = new ArrayList<>();
        for (int i = 0; i < connections.count(); i++) {
            try {
                var unused = stub(deadline.minimum(after(timeout.dividedBy(connections.count()))))
                        .describe(request);
                return Optional.empty();
            } catch (StatusRuntimeException e) {
                Optional<Attempt> standby = standbyOfOther(e);
                if (standby.isEmpty()) {
                    return Optional.empty();
                }
                standbys.add(standby.get());
                connections.next();
            }
        }
        return Optional.of(standbysOnly(standbys).message());
    }

    private Optional<Attempt> standbyOfOther(StatusRuntimeException failure) {
        try {
            return Optional.of(failed(failure))
                    .filter(attempt -> !attempt.activeElsewhere().isEmpty());
        } catch (Failed decided) {
            return Optional.empty();
        }
    }

    /**
     * Replies of all servers, each of which knows something of its own.
     *
     * @param replies one or more; the first is of the server that {@link #call} asked
     * @param missing a clause for each server without a reply, such as {@code the lock server at 10.0.0.1:7600 did not
     *     reply}
     */
    public record Replies<T>(List<T> replies, List<String> missing) {}

    /**
     * Sends a call to every server: to one as {@link #call} does, then to each of the others once.
     *
     * @throws Failed as {@link #call}, when none replied
     */
    public <T> Replies<T> callEach(Function<LocksBlockingStub, T> call) throws Failed {
        List<T> replies = new ArrayList<>(List.of(call(call)));
        List<String> missing = new ArrayList<>();
        for (int i = 1; i < connections.count(); i++) {
            connections.next();
            try {
                replies.add(call.apply(stub(deadline.minimum(after(timeout.dividedBy(connections.count()))))));
            } catch (StatusRuntimeException e) {
                missing.add("the lock server at " + connections.address()
                        + standby(e).map(active -> " is a standby" + active).orElse(" did not reply"));
            }
        }
        connections.next(); // Back at the one that replied.
        return new Replies<>(replies, missing);
    }

    /** Of a failure of a standby: which server is active, for people; empty text if it does not know. */
    private static Optional<String> standby(StatusRuntimeException failure) {
        return Rejections.ofThrowable(failure)
                .filter(rejection -> rejection.reason() == Reason.NOT_ACTIVE)
                .map(LockServers::active)
                .map(active -> active.isEmpty() ? "" : " of " + active);
    }

    private static String active(Rejection rejection) {
        return TerminalText.text(rejection.metadata().getOrDefault(Rejection.ACTIVE, ""));
    }

    /**
     * The last attempt may have had a moment only: an earlier one at the same server says more than that it timed out.
     */
    private static Attempt saying(Attempt attempt, Map<String, Attempt> earlier) {
        if (!attempt.timedOut()) {
            earlier.put(attempt.address(), attempt);
        }
        return earlier.getOrDefault(attempt.address(), attempt);
    }

    /** Makes the next call go to a server that replies now: asks for a description of {@code lock}. */
    public DescribeReply reach(String lock) throws Failed {
        DescribeRequest request = DescribeRequest.newBuilder().setLock(lock).build();
        return call(stub -> stub.describe(request));
    }

    /**
     * Sends a call once, to the server that {@link #reach} found.
     *
     * @param longer time for this call beside the rest of the timeout
     * @throws Failed with {@link ExitCodes#NO_ANSWER} when it may have been executed
     */
    public <T> T callOnce(Duration longer, Function<LocksBlockingStub, T> call) throws Failed {
        try {
            return call.apply(stub(deadline.offset(longer.toNanos(), TimeUnit.NANOSECONDS)));
        } catch (StatusRuntimeException e) {
            throw noReply(List.of(failed(e)));
        }
    }

    /** Ends the connections, and their thread: the JVM would wait for it at its exit. */
    @Override
    public void close() {
        connections.close();
    }

    private LocksBlockingStub stub(Deadline until) {
        return LocksGrpc.newBlockingStub(connections.preferred()).withDeadline(until);
    }

    /**
     * One server's failure to decide.
     *
     * @param reason of a rejection, else empty
     * @param isFinal whether another attempt within seconds would fail in the same way
     * @param activeElsewhere of a standby: address of the active server, if that is none of those given; else empty
     */
    private record Attempt(
            String address,
            String reason,
            String cause,
            boolean timedOut,
            boolean isFinal,
            long retryAfterMillis,
            String activeElsewhere) {
        @Override
        public String toString() {
            return "no reply from the lock server at " + address + " (" + cause + ")";
        }
    }

    /** @throws Failed when the server has decided: it rejects the request */
    private Attempt failed(StatusRuntimeException failure) throws Failed {
        Rejection rejection = Rejections.ofThrowable(failure).orElse(null);
        if (rejection == null) {
            Status.Code code = failure.getStatus().getCode();
            if (code == Status.Code.UNAUTHENTICATED) { // Of the token's file, or of a proxy in between.
                throw new Failed(
                        ExitCodes.REJECTED,
                        code.name(),
                        code + ": "
                                + TerminalText.text(
                                        String.valueOf(failure.getStatus().getDescription())));
            }
            boolean isFinal = TransportFailures.isLasting(failure)
                    || code == Status.Code.UNIMPLEMENTED
                    || code == Status.Code.INTERNAL
                    || code == Status.Code.UNKNOWN;
            boolean timedOut = code == Status.Code.DEADLINE_EXCEEDED;
            return new Attempt(
                    connections.address(),
                    "",
                    TerminalText.text(TransportFailures.cause(failure)),
                    timedOut,
                    isFinal,
                    0,
                    "");
        }
        String message = rejection.reason() + ": " + TerminalText.text(rejection.message());
        if (rejection.reason() != Reason.OUTCOME_UNKNOWN
                && Rejections.code(rejection.reason()) != Status.Code.UNAVAILABLE) {
            throw new Failed(ExitCodes.REJECTED, rejection.reason().name(), message);
        }
        String active = rejection.reason() == Reason.NOT_ACTIVE ? active(rejection) : "";
        return new Attempt(
                connections.address(),
                rejection.reason().name(),
                // Its own message asks for the addresses of all servers, which it was given.
                connections.has(active) ? rejection.reason() + ": it is a standby of " + active : message,
                false,
                false,
                retryAfterMillis(rejection),
                connections.has(active) ? "" : active);
    }

    private static long retryAfterMillis(Rejection rejection) {
        try {
            String told = rejection.metadata().getOrDefault(Rejection.RETRY_AFTER_MILLIS, "0");
            return Math.max(0, Math.min(RETRY_MILLIS_MAX, Long.parseLong(told)));
        } catch (NumberFormatException e) {
            return 0;
        }
    }

    private static Failed standbysOnly(List<Attempt> standbys) {
        return new Failed(
                ExitCodes.NO_ANSWER,
                Reason.NOT_ACTIVE.name(),
                "--server names standbys only ("
                        + String.join(
                                ", ", standbys.stream().map(Attempt::address).toList())
                        + "); add the active lock server: "
                        + standbys.get(0).activeElsewhere());
    }

    private static Failed noReply(List<Attempt> failures) {
        Attempt first = failures.get(0);
        boolean replied =
                failures.stream().anyMatch(attempt -> !attempt.reason().isEmpty());
        if (failures.size() == 1) {
            String message = replied
                    ? "the lock server at " + first.address() + " cannot decide now: " + first.cause()
                    : first + "; check --server, or start one: palisade server";
            return new Failed(ExitCodes.NO_ANSWER, first.reason(), message);
        }
        String causes = String.join(
                ", ",
                failures.stream()
                        .map(attempt -> attempt.address() + ": " + attempt.cause())
                        .toList());
        return new Failed(
                ExitCodes.NO_ANSWER,
                failures.stream()
                        .map(Attempt::reason)
                        .filter(reason -> !reason.isEmpty())
                        .findFirst()
                        .orElse(""),
                (replied ? "no lock server can decide now (" : "no lock server replied (") + causes + ")");
    }

    private static Deadline after(Duration time) {
        return Deadline.after(time.toNanos(), TimeUnit.NANOSECONDS);
    }

    /**
     * Blocks for {@code millis} before another attempt or poll.
     *
     * @throws Failed at once when the thread is interrupted; its flag stays set
     */
    public void pause(long millis) throws Failed {
        try {
            clock.pause(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failed(ExitCodes.NO_ANSWER, "", "interrupted while waiting for the lock server");
        }
    }
}
