package dev.palisade.server.rpc;

import dev.palisade.server.engine.LockEngine;
import java.net.SocketAddress;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Factory of in-process clients of the lock service, for another transport of the same process. Each client makes its calls as
 * one principal, with the checks and through the methods that a call of gRPC takes. Thread-safe.
 */
public final class InProcessLocks {
    private final LocksRpc locks;
    private final LockSnapshots snapshots;
    private final LockEngine engine;
    private final @Nullable Authentication authentication;
    private final Executor replies;

    /**
     * @param authentication of the lock port; null where all that can connect may do everything
     * @param replies delivers replies; few threads
     * @param nanoTime a monotonic clock, for the age of snapshots
     */
    public InProcessLocks(
            LocksRpc locks,
            LockEngine engine,
            @Nullable Authentication authentication,
            Executor replies,
            LongSupplier nanoTime) {
        this.locks = locks;
        this.engine = engine;
        this.authentication = authentication;
        this.replies = replies;
        this.snapshots = new LockSnapshots(engine::list, nanoTime);
    }

    /** Whether {@link #client} would refuse the sender because it shows no identity, right or wrong. */
    public boolean needsIdentity(@Nullable Iterable<String> presented, @Nullable SSLSession session) {
        return authentication != null && Authentication.isAnonymous(presented, session);
    }

    /**
     * A client for the sender of one request. Its rights are those of each call's moment; whether its token is still one of a
     * user is checked here only, so make a new client for each request.
     *
     * @param presented values of the request's header authorization; null if it has none
     * @param session of TLS; null for plaintext
     * @throws dev.palisade.contract.RejectedException UNAUTHENTICATED
     */
    public InProcessClient client(
            @Nullable Iterable<String> presented, @Nullable SSLSession session, @Nullable SocketAddress peer) {
        Caller caller = authentication == null ? Caller.ANYONE : authentication.authenticate(presented, session, peer);
        return new InProcessClient(locks, snapshots, engine.config().issuer(), caller, replies);
    }
}
