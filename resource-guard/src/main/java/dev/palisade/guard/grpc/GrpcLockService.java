package dev.palisade.guard.grpc;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.guard.LockService;
import dev.palisade.guard.LockService.LeaseReply;
import dev.palisade.guard.LockService.LeaseRequest;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.BarrierReply;
import dev.palisade.proto.v1.BarrierRequest;
import dev.palisade.proto.v1.CheckSequencerReply;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryReply;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseReply;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewReply;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ReportRefusalsReply;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The gRPC client through which a guard calls the lock servers. One server is asked at a time, and the next one after a failure. A
 * request that a standby rejects is sent to the next server at once, and others are sent once: the guard's callers retry. Safe for use by
 * several threads.
 */
public final class GrpcLockService implements LockService {
    /** How long an answer may take. */
    public static final Duration ANSWER_MAX = Duration.ofSeconds(2);

    /** Questions for a call, which was not applied; what a failure of the others means, the registration says. */
    private static final Set<String> FOR_A_CALL = Set.of("Barrier", "CheckSequencer");

    private static final String FORCE_RELEASED = "FORCE_RELEASED";

    private static final int CAUSE_CHARS_MAX = 100;

    private final List<LocksGrpc.LocksStub> servers;
    private final String issuer;
    private final AtomicInteger current = new AtomicInteger();

    private GrpcLockService(List<LocksGrpc.LocksStub> servers, String issuer) {
        this.servers = servers;
        this.issuer = issuer;
    }

    /**
     * @param channel to the lock server; stays the caller's
     * @param issuer whose sequencers the guard accepts: tokens of any other issuer have no order with them and are refused
     */
    public static GrpcLockService at(Channel channel, String issuer) {
        return at(List.of(channel), issuer);
    }

    /**
     * @param channels one to each lock server of one lock service; they stay the caller's
     * @param issuer as of {@link #at(Channel, String)}
     * @throws IllegalArgumentException when there is no channel
     */
    public static GrpcLockService at(List<? extends Channel> channels, String issuer) {
        if (channels.isEmpty()) {
            throw new IllegalArgumentException("no lock server is named; give a channel to each");
        }
        return new GrpcLockService(
                channels.stream().map(channel -> LocksGrpc.newStub(channel)).toList(), issuer);
    }

    @Override
    public CompletionStage<Long> barrier(LockName lock) {
        BarrierRequest request =
                BarrierRequest.newBuilder().setLock(lock.value()).build();
        return ask("Barrier", (stub, answer) -> stub.barrier(request, answer), this::token);
    }

    @Override
    public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
        CheckSequencerRequest request = CheckSequencerRequest.newBuilder()
                .setSequencer(ByteString.copyFrom(sequencer.toBytes()))
                .build();
        return ask(
                "CheckSequencer",
                (stub, answer) -> stub.checkSequencer(request, answer),
                CheckSequencerReply::getAlive);
    }

    @Override
    public CompletionStage<LeaseReply> tryAcquire(LeaseRequest request) {
        AcquireRequest message = AcquireRequest.newBuilder()
                .setLock(request.lock().value())
                .setMode(Mode.EXCLUSIVE)
                .setTtlMillis(request.ttl().toMillis())
                .setSessionId(ByteString.copyFrom(request.id().session().toBytes()))
                .setRequestId(request.id().number())
                .setAgeMillis(request.age().toMillis())
                .setOwner(request.owner())
                .setPurpose(request.purpose())
                .build();
        return ask(
                "Acquire",
                (stub, answer) -> stub.acquire(message, answer),
                (AcquireReply reply) -> lease(request, reply));
    }

    @Override
    public CompletionStage<Void> renew(LeaseReply.Granted lease) {
        RenewRequest message = RenewRequest.newBuilder()
                .setLock(lease.lock().value())
                .setGrantId(ByteString.copyFrom(lease.grant().toBytes()))
                .setToken(lease.token().value())
                .setSessionId(ByteString.copyFrom(lease.session().toBytes()))
                .build();
        return this.<RenewReply, RenewReply>ask("Renew", (stub, answer) -> stub.renew(message, answer), reply -> reply)
                .thenAccept(renewed -> {});
    }

    @Override
    public CompletionStage<Void> release(LeaseReply.Granted lease) {
        ReleaseRequest message = ReleaseRequest.newBuilder()
                .setLock(lease.lock().value())
                .setGrantId(ByteString.copyFrom(lease.grant().toBytes()))
                .setToken(lease.token().value())
                .setSessionId(ByteString.copyFrom(lease.session().toBytes()))
                .build();
        return this.<ReleaseReply, ReleaseReply>ask(
                        "Release", (stub, answer) -> stub.release(message, answer), reply -> reply)
                .thenAccept(released -> {});
    }

    @Override
    public CompletionStage<List<Long>> recentTokens(LockName lock) {
        HistoryRequest request =
                HistoryRequest.newBuilder().setLock(lock.value()).build();
        return ask("History", (stub, answer) -> stub.history(request, answer), GrpcLockService::tokens);
    }

    @Override
    public CompletionStage<Boolean> reportRefusals(String guard, List<RefusedCalls> refused) {
        ReportRefusalsRequest.Builder request =
                ReportRefusalsRequest.newBuilder().setGuard(guard);
        for (RefusedCalls calls : refused) {
            ReportedRefusal.Builder refusal = ReportedRefusal.newBuilder()
                    .setLock(calls.lock().value())
                    .setResource(calls.resource())
                    .setReason(calls.reason().name())
                    .setPresentedToken(calls.presentedToken())
                    .setMarkToken(calls.markToken().orElse(0))
                    .setFirstMillisAgo(calls.firstAgo().toMillis())
                    .setLastMillisAgo(calls.lastAgo().toMillis())
                    .setCount(calls.count());
            calls.markRaisedAgo().ifPresent(ago -> refusal.setMarkRaisedMillisAgo(ago.toMillis()));
            request.addRefusals(refusal);
        }
        return ask(
                () -> new Answer<ReportRefusalsReply, Boolean>("ReportRefusals", reply -> true, false),
                (stub, answer) -> stub.reportRefusals(request.build(), answer));
    }

    /**
     * The server keeps the newest entries of a lock without a gap, but for forced releases: those outlive what came after.
     * An older entry of such a token says nothing, so the list begins after it.
     */
    private static List<Long> tokens(HistoryReply reply) {
        Set<Long> ordinary = new HashSet<>();
        TreeSet<Long> all = new TreeSet<>();
        for (HistoryEntry entry : reply.getEntriesList()) {
            if (entry.getToken() > 0) {
                all.add(entry.getToken());
                if (!entry.getWhat().equals(FORCE_RELEASED)) {
                    ordinary.add(entry.getToken());
                }
            }
        }
        List<Long> newest = new ArrayList<>();
        for (Long token : all.descendingSet()) {
            if (!ordinary.contains(token)) {
                break;
            }
            newest.add(0, token);
        }
        return newest;
    }

    private static LeaseReply lease(LeaseRequest request, AcquireReply reply) {
        return switch (reply.getOutcomeCase()) {
            case GRANTED ->
                new LeaseReply.Granted(
                        request.lock(),
                        request.id().session(),
                        new FencingToken(reply.getGranted().getToken()),
                        GrantId.of(reply.getGranted().getGrantId().toByteArray()));
            case BUSY ->
                new LeaseReply.Busy(
                        reply.getBusy().hasHolder()
                                ? Optional.of(holder(reply.getBusy().getHolder()))
                                : Optional.empty());
            case QUEUED, TIMED_OUT, OUTCOME_NOT_SET -> throw unusable("Acquire", "it is no answer to a try");
        };
    }

    private static LeaseReply.Holder holder(Holder holder) {
        return new LeaseReply.Holder(
                new FencingToken(holder.getToken()),
                holder.getOwner(),
                holder.getPurpose(),
                Duration.ofMillis(holder.getHeldMillis()));
    }

    private long token(BarrierReply reply) {
        if (!reply.getIssuer().equals(issuer)) {
            throw unusable("Barrier", "it is the lock service '" + reply.getIssuer() + "' and not '" + issuer + "'");
        }
        if (reply.getToken() < 1 || reply.getToken() > FencingToken.MAX) {
            throw unusable("Barrier", reply.getToken() + " is no token");
        }
        return reply.getToken();
    }

    /** Outside of the call that made the guard ask: its end must not end a question that other calls wait for too. */
    private <A, T> CompletionStage<T> ask(
            String method, BiConsumer<LocksGrpc.LocksStub, StreamObserver<A>> call, Function<A, T> reading) {
        return ask(() -> new Answer<>(method, reading, null), call);
    }

    private <A, T> CompletionStage<T> ask(
            Supplier<Answer<A, T>> answers, BiConsumer<LocksGrpc.LocksStub, StreamObserver<A>> call) {
        return ask(answers, call, 1);
    }

    private <A, T> CompletionStage<T> ask(
            Supplier<Answer<A, T>> answers, BiConsumer<LocksGrpc.LocksStub, StreamObserver<A>> call, int attempt) {
        int index = current.get();
        Answer<A, T> answer = answers.get();
        send(servers.get(index), call, answer);
        if (servers.size() == 1) {
            return answer.result;
        }
        return answer.result
                .handle((reply, failure) -> {
                    if (failure == null) {
                        return answer.result;
                    }
                    current.compareAndSet(index, (index + 1) % servers.size());
                    return answer.isStandby && attempt < servers.size()
                            ? ask(answers, call, attempt + 1)
                            : answer.result;
                })
                .thenCompose(Function.identity());
    }

    private static <A, T> void send(
            LocksGrpc.LocksStub server, BiConsumer<LocksGrpc.LocksStub, StreamObserver<A>> call, Answer<A, T> answer) {
        try {
            Context.ROOT.run(
                    () -> call.accept(server.withDeadlineAfter(ANSWER_MAX.toMillis(), TimeUnit.MILLISECONDS), answer));
        } catch (LinkageError e) {
            answer.onError(e);
        }
    }

    /** A right that this guard lacks must not become an answer to its caller, which would take it for its own. */
    private static RuntimeException rejected(String method, Rejection rejection) {
        if (rejection.reason() == Reason.NOT_ACTIVE) {
            return unusable(method, "it is a standby; give the guard a channel to each lock server");
        }
        boolean denied = rejection.reason() == Reason.PERMISSION_DENIED || rejection.reason() == Reason.UNAUTHENTICATED;
        return denied ? unusable(method, "it denies this guard: " + rejection.message()) : rejection.asException();
    }

    private static RuntimeException unusable(String method, String why) {
        return new Rejection(
                        Reason.STORE_UNAVAILABLE,
                        "the lock server did not answer " + method + ": " + why
                                + (FOR_A_CALL.contains(method)
                                        ? "; nothing was applied: try again, and look at the lock server"
                                        : ""))
                .asException();
    }

    /** The first line of {@code failure} and of its cause, which names a wrong transport where gRPC says "io exception". */
    private static String oneLine(Throwable failure) {
        String line = firstLine(failure);
        Throwable cause = failure.getCause();
        if (cause == null) {
            return line;
        }
        String why = cause.getClass().getSimpleName() + ": " + firstLine(cause);
        return line + " (" + why.substring(0, Math.min(CAUSE_CHARS_MAX, why.length())) + ")";
    }

    private static String firstLine(Throwable failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("no message");
    }

    /** What comes back for one question. */
    private static final class Answer<A, T> implements StreamObserver<A> {
        private final String method;
        private final Function<A, T> reading;
        private final @Nullable T fromOlder;
        private final CompletableFuture<T> result = new CompletableFuture<>();

        @Nullable
        private A reply;

        /** Written before {@link #result}. */
        private boolean isStandby;

        /** @param fromOlder the result where the server is too old to know the method; null: a failure */
        private Answer(String method, Function<A, T> reading, @Nullable T fromOlder) {
            this.method = method;
            this.reading = reading;
            this.fromOlder = fromOlder;
        }

        @Override
        public void onNext(A message) {
            reply = message;
        }

        @Override
        public void onError(Throwable failure) {
            if (fromOlder != null && Status.fromThrowable(failure).getCode() == Status.Code.UNIMPLEMENTED) {
                result.complete(fromOlder);
                return;
            }
            Optional<Rejection> refused = Rejections.ofThrowable(failure);
            isStandby = refused.filter(rejection -> rejection.reason() == Reason.NOT_ACTIVE)
                    .isPresent();
            result.completeExceptionally(refused.map(rejection -> rejected(method, rejection))
                    .orElseGet(() -> unusable(
                            method,
                            LinkageErrors.in(failure)
                                    .map(linkage ->
                                            LinkageErrors.exception(linkage).getMessage())
                                    .orElseGet(() -> oneLine(failure)))));
        }

        @Override
        public void onCompleted() {
            try {
                if (reply == null) {
                    throw unusable(method, "the answer is empty");
                }
                result.complete(reading.apply(reply));
            } catch (RuntimeException e) {
                result.completeExceptionally(e);
            }
        }
    }
}
