package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LeaseLostException;
import dev.palisade.contract.LockName;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;
import io.grpc.ClientInterceptor;
import io.grpc.stub.AbstractStub;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A lock that is held, until it is released or lost; it never comes back. The holder is whoever has this object, not a
 * thread; who {@link #reenter() re-enters} it is another holder of the same grant, and the lock is free when the last
 * of them has closed. The client renews it by itself. Being valid here is a hint, not a fence: what protects the
 * resource is its guard, which judges the {@link #sequencer()} of every call. No method blocks but
 * {@link #ensureValidFor}, {@link #release} and {@link #close}. Safe for use by many threads.
 */
public interface Lease extends AutoCloseable {
    /** What is held. */
    LockName lock();

    /** The number that orders grants; the same for the whole life of the lease. */
    FencingToken token();

    /** Names this grant for ever. */
    GrantId grant();

    /** How it is held. */
    Mode mode();

    /** What to send along with every call that this lease protects. Whoever has it can act for the holder. */
    SignedSequencer sequencer();

    /** Whether the lease is held and its local deadline has not passed, by the monotonic and by the wall clock. */
    boolean isValid();

    /** How long the lease is certain to hold without another confirmation; zero once released or lost. */
    Duration validFor();

    /**
     * Returns once at least {@code atLeast} is left, asking the server for one renewal if need be; blocks at most for
     * the client's call timeout, and never past the local deadline.
     *
     * @param atLeast zero or more; up to the ttl less a thousandth and 20 ms
     * @throws InterruptedException when interrupted before or while waiting; the lease stays held
     * @throws LeaseLostException when the lease is lost or the renewal was not confirmed in time
     * @throws IllegalStateException when this handle is closed
     * @throws IllegalArgumentException when it is negative or longer than the whole lease
     */
    void ensureValidFor(Duration atLeast) throws InterruptedException;

    /**
     * Another handle of the same grant: same token, same sequencer, renewed together, lost together. Each handle is
     * closed for itself and is dead from then on; the lock is released when the last one is closed. Makes no call.
     *
     * @throws LeaseLostException when the lease is lost
     * @throws IllegalStateException when this handle is closed
     */
    Lease reenter();

    /**
     * Closes this handle, and gives the lock up when it was the last; it counts as over from the call on. Blocks at
     * most for the call timeout, also when interrupted, and not at all when other handles are open. The same outcome
     * each time, except that UNKNOWN may settle; never throws for a lost lease.
     */
    ReleaseOutcome release();

    /**
     * {@link #release} without blocking: over from the call on, completed when the server has answered, with UNKNOWN at
     * the end of the lease's ttl at the latest. The future is completed on the callback executor; cancelling it takes
     * nothing back. BlockingWait for it, or for what is derived from it, in a callback on the client's own thread
     * throws IllegalStateException.
     */
    CompletableFuture<ReleaseOutcome> releaseAsync();

    /** Releases, whatever comes of it. */
    @Override
    void close();

    /**
     * Has {@code listener} told once when the lease is lost, at the local deadline at the latest, or, after the machine
     * slept, with the next keep-alive; at once if it is lost already; never when it was released or this handle was
     * closed before. Runs on the client's callback executor; what it throws is logged.
     *
     * @return takes the listener off when closed
     */
    Registration onLost(Consumer<LostReason> listener);

    /**
     * Why the lease was lost; empty while it is held, and for good when it was released or this handle closed before.
     */
    Optional<LostReason> lostReason();

    /**
     * Of FORCE_RELEASED, the operator and the reason: {@code by NAME: WHY}. Of ABANDONED, the cause, from a server that
     * names it. Of SERVER_UNREACHABLE without a connection, its last failure, such as a token that expired; with one, why
     * the store of the lock server refuses, if it does. Empty otherwise, and while the lease is held.
     */
    String lostDetail();

    /**
     * An operator's request that the holder release the lock.
     *
     * @param by the requester
     * @param why for what
     */
    record ReleaseRequest(String by, String why) {}

    /**
     * Notifies {@code listener} of each request to release the lock, as {@link Operations#requestRelease} sends it; of
     * earlier requests the last is delivered at once. The holders decide: to comply, finish and close every handle;
     * doing nothing is a no. A request while the connection is broken is missed. Nothing is delivered once the lease is
     * over or this handle closed. Runs on the client's callback executor; what it throws is logged.
     *
     * @return takes the listener off when closed
     */
    Registration onReleaseRequested(Consumer<ReleaseRequest> listener);

    /** Puts the sequencer into the {@code sequencer-bin} header of every call. It sends; the guard decides. */
    ClientInterceptor interceptor();

    /**
     * What is done under a lease.
     *
     * @param <T> of its result
     * @param <E> what it may throw; inferred, {@link RuntimeException} when it throws nothing that is checked
     */
    @FunctionalInterface
    interface Work<T extends @Nullable Object, E extends Exception> {
        /** Does it; {@code lease} is released when it returns or throws. */
        T under(Lease lease) throws E;
    }

    /**
     * What is done under a lease, without a result.
     *
     * @param <E> what it may throw; inferred, {@link RuntimeException} when it throws nothing that is checked
     */
    @FunctionalInterface
    interface Task<E extends Exception> {
        /** Does it; {@code lease} is released when it returns or throws. */
        void under(Lease lease) throws E;
    }

    /** {@code stub} with {@link #interceptor()}. */
    default <S extends AbstractStub<S>> S attach(S stub) {
        return stub.withInterceptors(interceptor());
    }
}
