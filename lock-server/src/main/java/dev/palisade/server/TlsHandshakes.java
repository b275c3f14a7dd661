package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.server.metrics.Listener;
import io.netty.channel.Channel;
import io.netty.handler.ssl.SslHandler;
import java.nio.channels.ClosedChannelException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/** Count of the TLS handshakes that failed at each port, with an event for each of so many a second. Thread-safe. */
final class TlsHandshakes {
    private final EventLog events;
    private final Map<Listener, LongAdder> failed = new EnumMap<>(Listener.class);

    TlsHandshakes(EventLog events) {
        this.events = events;
        for (Listener listener : Listener.values()) {
            failed.put(listener, new LongAdder());
        }
    }

    /** Counts the handshake of {@code connection} if it fails; a client that only hangs up is none. */
    void observe(Listener listener, Channel connection, SslHandler tls) {
        String peer = String.valueOf(connection.remoteAddress());
        var unused = tls.handshakeFuture().addListener(done -> {
            Throwable cause = done.cause();
            if (cause != null && !(cause instanceof ClosedChannelException)) {
                of(listener).increment();
                events.tell(
                        "tls_handshake_failed",
                        "listener",
                        listener.name().toLowerCase(Locale.ROOT),
                        "peer",
                        peer,
                        "message",
                        String.valueOf(cause.getMessage()));
            }
        });
    }

    long failed(Listener listener) {
        return of(listener).sum();
    }

    private LongAdder of(Listener listener) {
        return Objects.requireNonNull(failed.get(listener));
    }
}
