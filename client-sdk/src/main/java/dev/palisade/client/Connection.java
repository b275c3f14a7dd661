package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.contract.LinkageErrors;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.TransportFailures;
import dev.palisade.proto.v1.Hello;
import io.grpc.Status;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The reconnecting connection of one client, with one stream at a time. When a stream breaks, the next attempt goes to
 * the next address, after a {@link Backoff}. It handles no locks. In the loop only.
 */
final class Connection {
    /** Least life of a stream that ends a series of failures. */
    private static final long SETTLED_NANOS = 1_000_000_000;

    /** Longest wait for a server that signals its takeover; it does so for at most 10 s. */
    private static final long TAKEOVER_MAX_NANOS = 12_000_000_000L;

    private final Loop loop;
    private final Session session;
    private final Settings settings;
    private final Channels channels;
    private final Backoff backoff;
    private final SpareConnections spares;
    private final SessionId id;
    private final OutageLog outages;

    @Nullable
    private SessionStream stream;

    private volatile boolean connected;
    private final AtomicLong sessions = new AtomicLong();

    @Nullable
    private Target target;

    private TimerQueue.@Nullable ScheduledTask connectTimer;
    private long generation;
    private long attemptedNanos;
    private long welcomedNanos;
    private boolean stopped;
    private String lastFailure = "no attempt has ended yet";

    /** @param jitter 0.0 (inclusive) to 1.0: spreads the attempts of a fleet */
    Connection(Loop loop, Session session, Settings settings, Channels channels, DoubleSupplier jitter, SessionId id) {
        this.loop = loop;
        this.session = session;
        this.settings = settings;
        this.channels = channels;
        this.backoff = new Backoff(jitter);
        this.spares = new SpareConnections(
                loop, channels, jitter, settings.connectTimeout().toNanos());
        this.id = id;
        this.outages = new OutageLog(channels.toString(), channels.count());
    }

    SessionId id() {
        return id;
    }

    /** Number of the present stream, from 1. */
    long generation() {
        return generation;
    }

    /** The stream that carries calls; null while there is none. */
    @Nullable
    SessionStream live() {
        return stream != null && stream.welcomed() ? stream : null;
    }

    /** Why there is no stream, for people. */
    String lastFailure() {
        return lastFailure;
    }

    /** Whether there is a stream that carries calls; a recent value on other threads. */
    boolean connected() {
        return connected;
    }

    /** Number of welcomes by servers. For any thread. */
    long sessions() {
        return sessions.get();
    }

    void connect() {
        if (stopped || stream != null) {
            return;
        }
        generation++;
        long now = loop.now().nanos();
        Target next = channels.next(now);
        next.attempt(now);
        attemptedNanos = now;
        SessionStream opening =
                new SessionStream(loop, session, this, settings.callTimeout().toNanos());
        target = next;
        stream = opening;
        awaitFrame(opening, next, 1);
        opening.open(
                next.channel(),
                Hello.newBuilder()
                        .setSessionId(ByteString.copyFrom(id.toBytes()))
                        .setSessionGen(generation)
                        .setOwner(settings.owner())
                        .setKeepLeasesOnDisconnect(settings.keepLeasesOnDisconnect())
                        .setPatienceMillis(
                                connectTimeouts() * settings.connectTimeout().toMillis())
                        .setResumes(session.resumptions().count())
                        .build());
    }

    /** Extends the timeout for a server that signals, again and again, that it is taking over. */
    void takeoverSignalReceived(SessionStream which) {
        boolean isDue = loop.now().nanos() - attemptedNanos < TAKEOVER_MAX_NANOS;
        if (which == stream && target != null && isDue) {
            loop.cancel(connectTimer);
            awaitFrame(which, target, 1);
        }
    }

    private void awaitFrame(SessionStream which, Target from, int timeouts) {
        connectTimer = loop.schedule(connectTimeoutNanos(), () -> silent(which, from, timeouts));
    }

    /**
     * Ends an attempt without a welcome. One of several servers that has accepted the connection gets the time twice:
     * it may be busy with a fleet.
     */
    private void silent(SessionStream which, Target from, int timeouts) {
        if (timeouts < connectTimeouts() && from.isReady()) {
            awaitFrame(which, from, timeouts + 1);
            return;
        }
        if (channels.several()) {
            from.isSilent(connectTimeoutNanos());
        }
        broken(
                which,
                new IllegalStateException("no welcome within "
                        + timeouts * settings.connectTimeout().toMillis() + " ms"));
    }

    /** Number of timeouts for a server that has accepted the connection. */
    private int connectTimeouts() {
        return channels.several() ? 2 : 1;
    }

    private long connectTimeoutNanos() {
        return settings.connectTimeout().toNanos();
    }

    void welcomed(SessionStream which) {
        if (which == stream && target != null) {
            loop.cancel(connectTimer);
            target.welcomed();
            connected = true;
            sessions.incrementAndGet();
            welcomedNanos = loop.now().nanos();
            outages.connected(welcomedNanos, authority());
            spares.setActive(target);
            session.connected(which);
        }
    }

    /** Handles a stream that has ended, or counts as ended; ignores earlier streams. */
    void broken(SessionStream which, @Nullable Throwable failure) {
        if (which != stream || target == null || stopped) {
            return;
        }
        boolean worked = which.welcomed();
        loop.cancel(connectTimer);
        which.end(false);
        stream = null;
        connected = false;
        lastFailure = authority() + ": " + reason(failure);
        if (worked && loop.now().nanos() - welcomedNanos >= SETTLED_NANOS) {
            backoff.reset();
        }
        Optional<LinkageError> linkage = LinkageErrors.in(failure);
        if (linkage.isPresent()) {
            session.unusable(linkage.get());
            return;
        }
        Optional<Rejection> rejection = failure == null ? Optional.empty() : Rejections.ofThrowable(failure);
        boolean isStandby =
                rejection.filter(why -> why.reason() == Reason.NOT_ACTIVE).isPresent();
        long now = loop.now().nanos();
        if (isStandby) {
            long retryAfter = RetryDelay.requestedNanos(rejection.get()).orElse(0);
            target.isStandby(now, retryAfter, channels.several(), connectTimeoutNanos());
            channels.prefer(rejection.get().metadata().getOrDefault(Rejection.ACTIVE, ""), target, retryAfter > 0);
        } else if (!worked && channels.several()) {
            target.failed(now);
        }
        long delay = backoff.nextDelayNanos(isStandby, channels.count(), now);
        loop.schedule(Math.max(delay, channels.pauseNanos(now)), this::connect);
        if (worked) {
            spares.setActive(null);
            session.disconnected();
        } else {
            outages.failed(now, lastFailure);
        }
        rejection.ifPresent(session::refused);
    }

    /**
     * Replaces the present stream, by one to the same server if that has replied. An attempt without a welcome
     * continues, because it has carried no calls. It runs after the present task, because the rest of a frame belongs
     * to the present stream.
     */
    void renew(String why) {
        SessionStream present = live();
        if (present != null) {
            loop.execute(() -> renew(present, why));
        }
    }

    private void renew(SessionStream which, String why) {
        if (which == stream && target != null) {
            if (which.hasReplied()) {
                channels.stay(target);
            }
            replace(why);
        }
    }

    /** Replaces the present stream or attempt. */
    void replace(String why) {
        if (stream != null) {
            broken(stream, new IllegalStateException(why));
        }
    }

    /** Moves to another server, if there is one, because the present one reports that it cannot serve. */
    void leave(SessionStream which, String why) {
        if (channels.several()) {
            broken(which, new IllegalStateException(why));
        }
    }

    void stop() {
        stopped = true;
        spares.stop();
        connected = false;
        if (stream != null) {
            stream.end(true);
            stream = null;
        }
        loop.cancel(connectTimer);
    }

    private String authority() {
        return target == null ? "" : target.channel().authority();
    }

    /** Why the stream ended, in plain words. */
    static String reason(@Nullable Throwable failure) {
        if (failure == null) {
            return "the server ended the stream";
        }
        Status status = Status.fromThrowable(failure);
        return status.getCode() == Status.Code.UNKNOWN && status.getCause() == failure
                ? String.valueOf(failure.getMessage())
                : TransportFailures.cause(failure);
    }
}
