package dev.palisade.server.store.redis;

import dev.palisade.contract.EventLog;
import dev.palisade.server.store.StoreFailure;
import dev.palisade.server.store.StoreUnusable;
import io.netty.channel.EventLoop;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The link to whichever Redis is the primary; in a cluster, of one slot. It knows nothing of locks. A call is written at most once
 * unless Redis said that it did not run; what is called while there is no primary fails at once. It blocks nobody, and replies on the
 * {@link Loop}, on which everything here happens: be brief there. Safe for use by many threads.
 */
final class RedisLink implements AutoCloseable {
    private static final long CLOSING_MAX_MILLIS = 2_000;

    private final EventLoop loop;
    private final Connector connector;
    final PrimaryLocator locator;
    private final FunctionCall.Refused refused = this::refused; // Once, not for each call.
    private final Queue<FunctionCall> called = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean draining = new AtomicBoolean();
    /** Written to in this turn of the loop, to be flushed at its end. */
    private final Set<RedisConnection> written = new LinkedHashSet<>();

    private RedisLink(RedisLinkConfig config, int slot, FunctionLibrary library, Loop lent, EventLog events)
            throws StoreUnusable {
        connector = new Connector(config, lent);
        loop = connector.loop();
        locator = new PrimaryLocator(config.uri(), slot, connector, new FunctionLoader(library), events);
    }

    /**
     * Links to the primary. Blocks until it is linked. Not for the link's thread.
     *
     * @param slot of the keys of all calls; matters in a cluster only
     * @param lent the link's thread, which outlives it
     * @throws StoreUnusable if it cannot be reached, may not be used, or must not keep locks as it is configured
     */
    static RedisLink open(RedisLinkConfig config, int slot, FunctionLibrary library, Loop lent, EventLog events)
            throws StoreUnusable, InterruptedException {
        RedisLink link = new RedisLink(config, slot, library, lent, events);
        boolean linked = false;
        try {
            link.locator.start().get();
            linked = true;
            return link;
        } catch (ExecutionException e) {
            throw new StoreUnusable(String.valueOf(RedisUnusable.of(e).getMessage()));
        } finally {
            if (!linked) {
                link.close();
            }
        }
    }

    /**
     * Calls a function.
     *
     * @param keys all of the link's slot
     * @return completes with its answer on the link's thread, or with {@link StoreFailure}
     */
    Reply call(String function, List<byte[]> keys, List<byte[]> args) {
        FunctionCall call = new FunctionCall(function, keys, args, refused);
        enqueue(call);
        return call.reply;
    }

    /**
     * Leaves the primary that gave {@code suspected}, unless it was left already, and asks anew who is the primary: after an answer that
     * a deposed primary would give. What it has in hand is still answered.
     *
     * @param why that answer, or the lack of one, in words
     * @return completes when a primary is linked; fails with {@link StoreFailure} if none is found
     */
    CompletableFuture<Void> findPrimary(Reply suspected, String why) {
        CompletableFuture<Void> found = new CompletableFuture<>();
        onLoop(() -> locator.find(suspected, why, found), () -> found.completeExceptionally(closed()));
        return found;
    }

    /**
     * Asks something that is no function over the connection that gave {@code earlier}, and over no other.
     *
     * @return completes on the link's thread; fails with {@link RedisUnusable}, also if that connection is no more
     */
    CompletableFuture<List<Object>> ask(Reply earlier, String... words) {
        CompletableFuture<List<Object>> asked = new CompletableFuture<>();
        onLoop(
                () -> {
                    RedisConnection connection = earlier.from();
                    if (connection == null) {
                        asked.completeExceptionally(RedisUnusable.of("Redis has not answered"));
                        return;
                    }
                    var unused = connection.ask(words).whenComplete((answer, failure) -> {
                        if (failure == null) {
                            asked.complete(answer);
                        } else {
                            asked.completeExceptionally(failure);
                        }
                    });
                },
                () -> asked.completeExceptionally(RedisUnusable.of("the link to Redis is closed")));
        return asked;
    }

    /**
     * Asks anew whether whoever gave {@code answered} is the primary, by the word of more than a minority: only then a new epoch may begin
     * there.
     *
     * @return completes on the link's thread, in bounded time
     */
    CompletableFuture<Boolean> isStillPrimary(Reply answered) {
        CompletableFuture<Boolean> asked = new CompletableFuture<>();
        onLoop(
                () -> {
                    var unused = locator.isStillPrimary(answered).thenAccept(asked::complete);
                },
                () -> asked.complete(false));
        return asked;
    }

    /** Runs {@code task} on the link's thread, once what has been read by now is dealt with; at once if that thread is gone. */
    void later(Runnable task) {
        onLoop(task, task);
    }

    /** What is in flight ends with an unknown outcome; later calls fail. Returns when its connections are closed, in bounded time. Not for the link's thread. */
    @Override
    public void close() {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        onLoop(
                () -> {
                    locator.close();
                    closed.complete(null);
                },
                () -> closed.complete(null));
        try {
            closed.get(CLOSING_MAX_MILLIS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException | TimeoutException e) {
            // The loop is blocked. Its connections end below.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        connector.close();
    }

    private void enqueue(FunctionCall call) {
        called.add(call);
        if (draining.compareAndSet(false, true)) {
            onLoop(this::drain, this::refuse);
        }
    }

    /** All that was called since the last turn of the loop, with one flush for each connection. */
    private void drain() {
        draining.set(false);
        FunctionCall call;
        while ((call = called.poll()) != null) {
            write(call);
        }
        written.forEach(RedisConnection::flush);
        written.clear();
    }

    private void write(FunctionCall call) {
        RedisConnection connection = locator.connection();
        if (connection == null) {
            call.unavailable(locator.why());
            return;
        }
        connection.write(new Call(call.words(), call));
        written.add(connection);
    }

    /** Redis answered {@code call} with an error. */
    private void refused(FunctionCall call, RedisConnection connection, String error) {
        ErrorReply reply = ErrorReply.of(error);
        String line = reply.line(connection.address(), error);
        switch (reply.fate()) {
            case REFUSED -> call.unavailable(line);
            case LEFT -> {
                locator.leave(connection, line);
                call.unavailable(line);
            }
            case LOADED -> load(call, connection, line);
            case UNKNOWN -> call.outcomeUnknown(line);
        }
    }

    private void load(FunctionCall call, RedisConnection connection, String line) {
        var unusedEnd = locator.load(connection).whenComplete((loaded, failure) -> {
            if (failure == null) {
                repeat(call, line);
            } else {
                call.unavailable(String.valueOf(RedisUnusable.of(failure).getMessage()));
            }
        });
    }

    private void repeat(FunctionCall call, String line) {
        if (call.again()) {
            enqueue(call);
        } else {
            call.unavailable(line);
        }
    }

    /** The loop has ended: the thread that finds that out completes the call. */
    private void refuse() {
        draining.set(false);
        FunctionCall call;
        while ((call = called.poll()) != null) {
            call.reply.completeExceptionally(closed());
        }
    }

    private void onLoop(Runnable task, Runnable ifClosed) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            ifClosed.run();
        }
    }

    private static StoreFailure closed() {
        return StoreFailure.unavailable("the link to Redis is closed");
    }
}
