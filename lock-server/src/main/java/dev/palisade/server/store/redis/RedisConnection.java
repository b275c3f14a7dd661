package dev.palisade.server.store.redis;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulRedisConnection;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A connection to one Redis, with its commands in flight. When it breaks, or a reply is late, it is given up as a whole: no command is
 * written twice, and commands without a reply fail. Replies come in the order of commands. In the {@link Loop} only.
 */
final class RedisConnection {
    private static final int TICKS_PER_TIMEOUT = 8;

    private final StatefulRedisConnection<byte[], byte[]> connection;
    private final Address address;
    private final EventLoop loop;
    private final long timeoutNanos;
    private final long openedNanos;
    private final SpinThenBlock strategy;
    private final Future<?> ticking;
    private final ArrayDeque<Call> inFlight = new ArrayDeque<>();
    private List<Call> outbox = new ArrayList<>();
    /** Hears once that it was lost; not of a {@link #retire}. */
    private @Nullable BiConsumer<RedisConnection, String> owner;

    /** When it was last looked whether a call is late. */
    private long lookedNanos;

    private boolean retired;
    private boolean closed;

    RedisConnection(
            StatefulRedisConnection<byte[], byte[]> connection,
            Address address,
            EventLoop loop,
            long timeoutNanos,
            SpinThenBlock strategy) {
        this.connection = connection;
        this.address = address;
        this.loop = loop;
        this.timeoutNanos = timeoutNanos;
        this.strategy = strategy;
        openedNanos = now();
        lookedNanos = openedNanos;
        long tickNanos = timeoutNanos / TICKS_PER_TIMEOUT;
        ticking = loop.scheduleWithFixedDelay(this::tick, tickNanos, tickNanos, TimeUnit.NANOSECONDS);
        connection.addListener(new RedisConnectionStateListener() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> closed) {
                broken("the connection broke");
            }
        });
        if (!connection.isOpen()) {
            loop.execute(() -> broken("the connection broke")); // Later, when it has an owner.
        }
    }

    void ownedBy(BiConsumer<RedisConnection, String> newOwner) {
        owner = newOwner;
    }

    Address address() {
        return address;
    }

    boolean isOpen() {
        return !closed && !retired;
    }

    long ageNanos() {
        return now() - openedNanos;
    }

    /** To be written with the next {@link #flush}. */
    void write(Call call) {
        outbox.add(call);
    }

    /** Writes what there is, with one flush of the socket. */
    void flush() {
        if (!isOpen()) {
            throw new IllegalStateException("closed: " + address);
        }
        List<Call> calls = outbox;
        outbox = new ArrayList<>();
        long now = now();
        for (Call call : calls) {
            call.sent(this, now);
            inFlight.add(call);
        }
        connection.dispatch(calls);
        strategy.sent();
    }

    /** Asks something of our own. Fails with {@link RedisUnusable}, and only so. */
    CompletableFuture<List<Object>> ask(String... words) {
        CompletableFuture<List<Object>> asked = new CompletableFuture<>();
        if (!isOpen()) {
            asked.completeExceptionally(new RedisUnusable(address, "the connection broke"));
            return asked;
        }
        byte[][] bytes = new byte[words.length][];
        for (int i = 0; i < words.length; i++) {
            bytes[i] = Call.bytes(words[i]);
        }
        write(new Call(bytes, new Call.Listener() {
            @Override
            public void answered(RedisConnection connection, List<Object> answer) {
                asked.complete(answer);
            }

            @Override
            public void refused(RedisConnection connection, String error) {
                asked.completeExceptionally(RedisUnusable.byReply(address, error));
            }

            @Override
            public void unanswered(RedisConnection connection, String why) {
                asked.completeExceptionally(new RedisUnusable(address, why));
            }
        }));
        flush();
        return asked;
    }

    /** A call was answered: the oldest, as Redis answers in order. */
    void answered(Call call) {
        if (inFlight.peek() == call) {
            inFlight.poll();
        } else if (!closed) {
            loop.execute(() -> broken("it answered out of order"));
        }
        if (inFlight.isEmpty()) {
            strategy.replied();
            if (retired) {
                close("it was left");
            }
        }
    }

    /** No more calls; closed when those in flight are answered, or late. */
    void retire() {
        retired = true;
        owner = null;
        if (inFlight.isEmpty()) {
            close("it was left");
        }
    }

    /** Any thread: Lettuce tells of its own end on another. */
    void broken(String why) {
        if (loop.inEventLoop()) {
            close(why);
        } else if (!loop.isShutdown()) {
            loop.execute(() -> close(why));
        }
    }

    void close(String why) {
        if (closed) {
            return;
        }
        closed = true;
        ticking.cancel(false);
        var unused = connection.closeAsync();
        List<Call> lost = new ArrayList<>(inFlight);
        inFlight.clear();
        BiConsumer<RedisConnection, String> told = owner;
        if (told != null) {
            told.accept(this, why); // First, so that who hears of a lost call and asks again is not sent here.
        }
        for (Call call : lost) {
            call.unanswered(why);
        }
    }

    /** Late is what was late at the last look: between two of them the loop reads what came while it was busy with others. */
    private void tick() {
        Call oldest = inFlight.peek();
        if (oldest != null && lookedNanos - oldest.sentNanos() > timeoutNanos) {
            close("it did not answer within " + RedisUnusable.text(timeoutNanos));
        }
        lookedNanos = now();
    }

    private long now() {
        return loop.ticker().nanoTime();
    }
}
