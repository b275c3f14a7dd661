package dev.palisade.server.rpc;

import com.google.protobuf.Message;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.ListRequest;
import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * In-process client of the lock service for one principal. Every call fails with {@link
 * dev.palisade.contract.RejectedException} where the rpc of the same name does. Thread-safe.
 */
public final class InProcessClient {
    private final LocksRpc locks;
    private final LockSnapshots snapshots;
    private final String issuer;
    private final Caller caller;
    private final Executor replies;

    /** A method of the lock service. */
    public interface Method<Q, R> {
        void call(LocksRpc locks, Q request, StreamObserver<R> reply);
    }

    InProcessClient(LocksRpc locks, LockSnapshots snapshots, String issuer, Caller caller, Executor replies) {
        this.locks = locks;
        this.snapshots = snapshots;
        this.issuer = issuer;
        this.caller = caller;
        this.replies = replies;
    }

    /** The name by which the policy knows the caller; empty without authentication. */
    public String principal() {
        return caller.principal();
    }

    /** Of the lock service. */
    public String issuer() {
        return issuer;
    }

    /** Whether the request would pass the policy now. It is not counted as a request. */
    public boolean allows(Message request) {
        return caller.allows(request);
    }

    /**
     * One page of the locks in use that the caller may describe, from a snapshot that all callers share.
     *
     * @param prefix beginning of the names; at most 256 bytes
     * @param page 1 is the first; one behind the end is empty
     * @param size 1 to 1,000
     */
    public CompletionStage<SortedLocks> list(String prefix, LockOrder order, int page, int size) {
        ListRequest request = ListRequest.newBuilder().setPrefix(prefix).build();
        try {
            caller.require(request);
            String beginning = ProtoCodec.prefix(prefix);
            return locks.listed(
                    () -> snapshots.of(beginning),
                    all -> SortedLocks.of(all, caller.visible(beginning), order, page, size, locks.answers()));
        } catch (dev.palisade.contract.RejectedException e) {
            return CompletableFuture.failedFuture(
                    locks.noted(e.rejection(), caller).asException());
        }
    }

    /** @param method replies once; not acquire, which looks after its call of gRPC */
    public <Q, R> CompletionStage<R> call(Method<Q, R> method, Q request) {
        CompletableFuture<R> reply = new CompletableFuture<>();
        Context.current()
                .withValue(Caller.KEY, caller)
                .run(() -> method.call(locks, request, new StreamObserver<R>() {
                    @Override
                    public void onNext(R message) {
                        reply.complete(message);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        reply.completeExceptionally(Rejections.ofThrowable(failure)
                                .orElseGet(() ->
                                        new Rejection(Reason.OUTCOME_UNKNOWN, "the call failed; see the server's log"))
                                .asException());
                    }

                    @Override
                    public void onCompleted() {}
                }));
        return reply.thenApplyAsync(message -> message, replies);
    }
}
