package dev.palisade.client;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.SignedSequencer;
import io.grpc.ClientInterceptor;
import io.grpc.stub.AbstractStub;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A lock that is held, until it is released or lost; it never comes back. The holder is whoever has this object, not a
 * thread. The client renews it by itself. Being valid here is a hint, not a fence: what protects the resource is its guard,
 * which judges the {@link #sequencer()} of every call. Safe for use by many threads.
 */
public interface Lease extends AutoCloseable {
    LockName lock();

    /** The number that orders grants; the same for the whole life of the lease. */
    FencingToken token();

    /** Names this grant for ever. */
    GrantId grant();

    Mode mode();

    /** What to send along with every call that this lease protects. Whoever has it can act for the holder. */
    SignedSequencer sequencer();

    /** Whether the lease is held and its local deadline has not passed, by the monotonic and by the wall clock. */
    boolean isValid();

    /** How long the lease is certain to hold without another confirmation; zero once released or lost. */
    Duration validFor();

    /**
     * Returns once at least {@code atLeast} is left, asking the server for one renewal if need be; blocks at most for the
     * call timeout, and never past the local deadline.
     *
     * @throws LeaseLostException when the lease is over or the renewal was not confirmed in time
     * @throws dev.palisade.contract.RejectedException MALFORMED_REQUEST when it is longer than the whole lease
     */
    void ensure(Duration atLeast);

    /**
     * Gives the lock up; this lease counts as over from the call on. Blocks at most for the call timeout, also when
     * interrupted. The same outcome each time, except that UNKNOWN may settle; never throws for a lost lease.
     */
    ReleaseOutcome release();

    /** Releases, whatever comes of it. */
    @Override
    void close();

    /**
     * Has {@code listener} told once when the lease is lost, at the local deadline at the latest; at once if it is lost
     * already; never when it was released. Runs on the client's callback executor; what it throws is logged.
     */
    void onLost(Consumer<LostReason> listener);

    /** Why the lease was lost; empty while it is held and after a release. */
    Optional<LostReason> lostReason();

    /** Who ended the lease and why, {@code by NAME: WHY}, when a person did; empty otherwise and while it is held. */
    String lostDetail();

    /**
     * Somebody asks the holder to give the lock up.
     *
     * @param by who asks
     * @param why for what
     */
    record RevokeAsked(String by, String why) {}

    /**
     * Has {@code listener} told each time somebody asks for the lock to be given up; of what was asked before it was set, the last is
     * told at once. The holder decides: to comply, finish and {@link #release()}; doing nothing is a no. An asking while
     * the connection is broken is missed. Not told once the lease is over. Runs on the client's callback executor; what it
     * throws is logged.
     */
    void onRevokeAsked(Consumer<RevokeAsked> listener);

    /** Puts the sequencer into the {@code sequencer-bin} header of every call. It sends; the guard decides. */
    ClientInterceptor interceptor();

    /** {@code stub} with {@link #interceptor()}. */
    default <S extends AbstractStub<S>> S attach(S stub) {
        return stub.withInterceptors(interceptor());
    }
}
