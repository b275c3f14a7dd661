package dev.palisade.client;

import dev.palisade.contract.LostReason;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.ClaimReply;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.GuardGrpc;
import io.grpc.Context;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A fan-out of the claims of one acquire, between its grant and its result. Calls to all guards run at once, and the
 * first failure ends them. The lease is kept alive meanwhile; {@link Acquire} decides what follows. In the loop only.
 */
final class Claiming {
    private final Session session;
    private final LeaseHandle lease;
    private final List<Claim> claims;
    private final Consumer<@Nullable Rejection> whenDone;
    /** A root context: the end of a gRPC call of the user must not end the claims. */
    private final Context.CancellableContext context = Context.ROOT.withCancellation();

    private int open;
    private boolean done;

    private TimerQueue.@Nullable ScheduledTask deadline;

    /** @param whenDone called once, with the failure; null if all guards have claimed */
    Claiming(Session session, LeaseHandle lease, List<Claim> claims, Consumer<@Nullable Rejection> whenDone) {
        this.session = session;
        this.lease = lease;
        this.claims = claims;
        this.whenDone = whenDone;
    }

    void begin(long limitNanos) {
        open = claims.size();
        deadline = session.loop().schedule(limitNanos, this::late);
        // Runs in the loop, because a slow callback of the user would delay it.
        Registration unused = lease.lease()
                .onLost(lease, Runnable::run, reason -> session.loop().execute(() -> end(lost(reason))));
        for (Claim claim : claims) {
            ClaimObserver observer = new ClaimObserver(claim);
            try {
                context.run(() -> GuardGrpc.newStub(claim.guard())
                        .withInterceptors(lease.interceptor())
                        .withDeadlineAfter(limitNanos, TimeUnit.NANOSECONDS)
                        .claim(
                                ClaimRequest.newBuilder()
                                        .setResource(resource(claim))
                                        .build(),
                                observer));
            } catch (RuntimeException e) {
                observer.onError(e);
            }
        }
    }

    /** Cancels the calls. */
    void stop() {
        done = true;
        session.loop().cancel(deadline);
        context.cancel(null);
    }

    private String resource(Claim claim) {
        return claim.resource().isEmpty() ? lease.lock().value() : claim.resource();
    }

    private void claimed() {
        open--;
        if (open == 0) {
            end(lease.isValid() ? null : lost(lease.lostReason().orElse(LostReason.SERVER_UNREACHABLE)));
        }
    }

    private void late() {
        end(new Rejection(
                Reason.MARK_UNAVAILABLE,
                open + " of " + claims.size() + " guards did not claim for lock '" + lease.lock()
                        + "' in time; the lock is released: try again, or wait longer"));
    }

    private Rejection lost(LostReason reason) {
        return new Rejection(
                Reason.LEASE_EXPIRED,
                "the lease of lock '" + lease.lock() + "' was lost (" + reason
                        + ") while guards were claiming for it: acquire again");
    }

    private Rejection failed(Claim claim, Throwable failure) {
        String where = "guard " + claim.guard().authority() + ", claim of '" + resource(claim) + "': ";
        return Rejections.ofThrowable(failure)
                .map(refusal -> new Rejection(refusal.reason(), where + refusal.message(), refusal.metadata()))
                .orElseGet(() -> new Rejection(
                        Reason.MARK_UNAVAILABLE,
                        where + failure.getMessage() + "; the lock is released: look at the guard, then try again"));
    }

    private void end(@Nullable Rejection failure) {
        if (!done) {
            stop();
            whenDone.accept(failure);
        }
    }

    /** The reply of one guard. */
    private final class ClaimObserver implements StreamObserver<ClaimReply> {
        private final Claim claim;

        private ClaimObserver(Claim claim) {
            this.claim = claim;
        }

        @Override
        public void onNext(ClaimReply reply) {
            // The mark is for people.
        }

        @Override
        public void onError(Throwable failure) {
            session.loop().execute(() -> end(failed(claim, failure)));
        }

        @Override
        public void onCompleted() {
            session.loop().execute(Claiming.this::claimed);
        }
    }
}
