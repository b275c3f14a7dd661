package dev.palisade.server.rpc;

import com.google.common.hash.HashCode;
import com.google.common.hash.Hashing;
import com.google.protobuf.Message;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.JwtAuthenticator;
import dev.palisade.server.access.JwtIdentity;
import dev.palisade.server.access.Rights;
import dev.palisade.server.access.Verb;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.engine.LockEngine;
import dev.palisade.server.engine.LockQuota;
import io.grpc.Context;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Principal of one call or stream, with its rights of now. It is in the gRPC context of every call that {@link Authentication} let
 * pass; without authentication it is {@link #ANYONE}, who may do everything. Thread-safe.
 */
final class Caller {
    /** Of a server without authentication. */
    static final Caller ANYONE = new Caller("", false, null, null);

    /** A stream ends within seconds of the expiry, and its client comes back: until then it still gets locks. */
    private static final Duration GIVEN_AFTER_EXPIRY = Duration.ofSeconds(10);

    static final Context.Key<Caller> KEY = Context.keyWithDefault("palisade-caller", ANYONE);

    /** Metadata of PERMISSION_DENIED: the verb that no line of the policy allows. */
    static final String VERB = "verb";

    private final String principal;
    private final boolean hasToken;
    /** Of its JWT; null when it has none. */
    private final @Nullable JwtIdentity jwt;

    private final @Nullable AccessControl access;
    /** Of the stream, when it was opened or last looked at. */
    private volatile @Nullable Rights rights;

    private volatile String peer = "";

    private Caller(String principal, boolean hasToken, @Nullable JwtIdentity jwt, @Nullable AccessControl access) {
        this.principal = principal;
        this.hasToken = hasToken;
        this.jwt = jwt;
        this.access = access;
        this.rights = access == null ? null : access.rights(principal);
    }

    static Caller ofToken(String user, AccessControl access) {
        return new Caller(user, true, null, access);
    }

    static Caller ofCertificate(String principal, AccessControl access) {
        return new Caller(principal, false, null, access);
    }

    static Caller ofJwt(JwtIdentity identity, AccessControl access) {
        return new Caller(identity.principal(), false, identity, access);
    }

    /**
     * Lets the caller's request pass.
     *
     * @throws dev.palisade.contract.RejectedException PERMISSION_DENIED, or LIMIT_EXCEEDED for too many requests a second
     */
    void require(Message request) {
        if (access == null) {
            return;
        }
        RequiredVerb required = RequiredVerb.of(request);
        if (!required.isOfHeldLock()) {
            takeRequest(access);
        } else if (request instanceof LeaveRequest) {
            // Counted and not refused: it is remembered, also of a request that never came, but a place in a queue must
            // not stay.
            access.takeRequest(principal);
        }
        if (!required.isAllowed(access.rights(principal))) {
            String lock = required.lock();
            // What is repeated to the client, and logged, is a lock's name at least.
            throw denied(required.word(), lock.isEmpty() ? "" : new LockName(lock).value())
                    .asException();
        }
    }

    /** Whether the request would pass now, apart from its number. */
    boolean allows(Message request) {
        return access == null || RequiredVerb.of(request).isAllowed(access.rights(principal));
    }

    private void takeRequest(AccessControl control) {
        long nanos = control.takeRequest(principal);
        if (nanos > 0) {
            long millis = TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
            throw Limits.exceeded(
                            "requests-per-second",
                            principal + " has used the requests-per-second that the policy gives it; try again in "
                                    + millis + " ms")
                    .with(Rejection.RETRY_AFTER_MILLIS, Long.toString(millis))
                    .with(Rejection.APPLIED, "no")
                    .asException();
        }
    }

    /** Empty without authentication. */
    String principal() {
        return principal;
    }

    /** This caller, of a call that came from {@code address}. */
    Caller from(@Nullable SocketAddress address) {
        peer = String.valueOf(address);
        return this;
    }

    /** Address from which the call came, for the log; empty without authentication. */
    String peer() {
        return peer;
    }

    /**
     * The name of an operator in a lock's history: the principal, and in quotes what else the operator calls itself. Without
     * authentication only the latter.
     */
    String operator(String claimed) {
        if (principal.isEmpty()) {
            return claimed;
        }
        if (claimed.isEmpty() || claimed.equals(principal)) {
            return principal;
        }
        return principal + " (\"" + claimed.replace("\\", "\\\\").replace("\"", "\\\"") + "\")";
    }

    /**
     * How many of the server's sessions the caller may have. Where no line says, half of them: so one client's mistake leaves room for
     * the others.
     */
    int sessionsMax(int ofServer) {
        if (access == null) {
            return ofServer;
        }
        int given = access.rights(principal).sessionsMax();
        return given == 0 ? Math.max(1, ofServer / 2) : given;
    }

    /** How many locks the caller may use now. */
    LockQuota lockQuota() {
        if (access == null) {
            return LockQuota.NONE;
        }
        Rights now = access.rights(principal);
        return new LockQuota(principal, orUnlimited(now.locksMax()), orUnlimited(now.waitersMax()));
    }

    private static int orUnlimited(int given) {
        return given == 0 ? Integer.MAX_VALUE : given;
    }

    /**
     * Why the caller may not have a lock in this mode now: what it asked for before may be given to it only later, and by then its
     * rights or its tokens may be gone.
     */
    Optional<Rejection> denied(Mode mode, LockName lock) {
        return withdrawal(mode, lock, GIVEN_AFTER_EXPIRY).map(Withdrawal::rejection);
    }

    /** The same, of a call that waits and has no stream that its client could open again. */
    Optional<Rejection> deniedWaiting(Mode mode, LockName lock) {
        return withdrawal(mode, lock, Duration.ZERO).map(Withdrawal::rejection);
    }

    private Optional<Withdrawal> withdrawal(Mode mode, LockName lock, Duration afterExpiry) {
        if (access == null) {
            return Optional.empty();
        }
        if (isWithdrawn(access)) {
            return Optional.of(tokensWithdrawn());
        }
        if (isKeyWithdrawn(access)) {
            return Optional.of(new Withdrawal(
                    EndCause.KEY_WITHDRAWN,
                    new Rejection(
                            Reason.UNAUTHENTICATED,
                            "the key of the JWT of " + principal + " was withdrawn; call again with a new one")));
        }
        if (isExpired(access, afterExpiry)) {
            return Optional.of(new Withdrawal(
                    EndCause.JWT_EXPIRED,
                    new Rejection(
                            Reason.UNAUTHENTICATED,
                            "the JWT of " + principal + " expired while it waited; call again with a new one")));
        }
        Verb verb = mode == Mode.SHARED ? Verb.ACQUIRE_SHARED : Verb.ACQUIRE;
        return access.rights(principal).may(verb, lock.value())
                ? Optional.empty()
                : Optional.of(new Withdrawal(EndCause.RIGHTS_WITHDRAWN, denied(verb.word(), lock.value())));
    }

    private Withdrawal tokensWithdrawn() {
        return new Withdrawal(
                EndCause.TOKENS_WITHDRAWN,
                new Rejection(Reason.UNAUTHENTICATED, "the tokens of " + principal + " were withdrawn"));
    }

    /**
     * The answer. One about a grant that does not hold the lock takes of the request rate: what is about a held lock is free, and
     * grants can be invented.
     */
    Answer counted(Answer answer) {
        if (access != null
                && answer instanceof Answer.Refused refused
                && refused.rejection().reason() == Reason.NOT_HOLDER) {
            var unused = access.takeRequest(principal);
        }
        return answer;
    }

    /** The answer, unless it gives a lock that the caller may not have: that is taken back. Only the answer knows the mode of a grant. */
    Answer allowed(LockEngine engine, LockName lock, Answer answer) {
        Grant grant = given(answer);
        if (access == null || grant == null) {
            return counted(answer);
        }
        Optional<Withdrawal> denied = withdrawal(grant.request().mode(), lock, GIVEN_AFTER_EXPIRY);
        if (denied.isEmpty()) {
            engine.counted(principal, lock, grant);
            return answer;
        }
        engine.takeBack(lock, grant, denied.get().cause());
        return new Answer.Refused(denied.get().rejection());
    }

    private static @Nullable Grant given(Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            return granted.grant();
        } else if (answer instanceof Answer.Renewed renewed) {
            return renewed.grant();
        }
        return answer instanceof Answer.Resumed resumed ? resumed.grant() : null;
    }

    /** Whether the caller may guard resources by the lock. */
    boolean mayGuard(LockName lock) {
        return access == null || access.rights(principal).may(Verb.GUARD, lock.value());
    }

    private Rejection denied(String verb, String lock) {
        Rejection denied = new Rejection(
                Reason.PERMISSION_DENIED,
                principal + " may not " + verb + (lock.isEmpty() ? "" : " '" + lock + "'")
                        + ": no line of the policy allows it; palisade policy check explains it",
                Map.of(Rejection.APPLIED, "no", VERB, verb));
        return lock.isEmpty() ? denied : denied.with(Rejection.LOCK, lock);
    }

    private boolean isWithdrawn(AccessControl control) {
        return hasToken && !control.hasUser(principal);
    }

    private boolean isExpired(AccessControl control, Duration since) {
        JwtAuthenticator jwts = control.jwts();
        return jwt != null && jwts != null && jwts.isPast(jwt.expiresAt().plus(since));
    }

    private boolean isKeyWithdrawn(AccessControl control) {
        JwtAuthenticator jwts = control.jwts();
        return jwt != null && jwts != null && jwts.isWithdrawn(jwt);
    }

    /** Of the locks that begin with {@code prefix}, those that the caller may see. */
    List<Rights.Range> visible(String prefix) {
        return access == null
                ? List.of(new Rights.Range(prefix, true))
                : access.rights(principal).visible(prefix);
    }

    /**
     * The session that the caller means by an id. With authentication the same id names another session for each principal: an id
     * alone is worth nothing in other hands, on every server of the lock service and after every restart.
     */
    SessionId session(SessionId id) {
        if (access == null) {
            return id;
        }
        HashCode named = Hashing.sha256()
                .newHasher()
                .putBytes(id.toBytes())
                .putString(principal, StandardCharsets.UTF_8)
                .hash();
        return SessionId.of(Arrays.copyOf(named.asBytes(), SessionId.BYTES));
    }

    /** Why a stream of the caller must end: the files changed, or its JWT expired; null when it need not. */
    @Nullable
    Withdrawal withdrawn() {
        if (access == null) {
            return null;
        }
        if (isWithdrawn(access)) {
            return tokensWithdrawn();
        }
        if (isExpired(access, Duration.ZERO)) {
            // Not UNAUTHENTICATED, at which a client gives up its waits: it may have a new token.
            return new Withdrawal(
                    EndCause.JWT_EXPIRED,
                    new Rejection(
                            Reason.SESSION_UNKNOWN,
                            "the JWT of " + principal + " expired; open a newer stream with a new one and resume"));
        }
        if (isKeyWithdrawn(access)) {
            return new Withdrawal(
                    EndCause.KEY_WITHDRAWN,
                    new Rejection(
                            Reason.SESSION_UNKNOWN,
                            "the key of the JWT of " + principal
                                    + " was withdrawn; open a newer stream with a new JWT and resume"));
        }
        Rights now = access.rights(principal);
        if (now.equals(rights)) {
            return null;
        }
        rights = now;
        return new Withdrawal(
                EndCause.RIGHTS_CHANGED,
                new Rejection(
                        Reason.SESSION_UNKNOWN,
                        "the rights of " + principal + " changed; open a newer stream and resume"));
    }
}
