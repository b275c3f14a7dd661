package dev.palisade.server.store.embedded;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Request;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreUnusable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Assertions;

/** A store with clocks in the test's hand, and the commands that tests send it. */
final class Asking {
    static final long START = 1_800_000_000_000L;

    final AtomicLong wallMillis = new AtomicLong(START);
    final AtomicLong nanos = new AtomicLong(-5_000_000_000L);
    final AtomicInteger epochs = new AtomicInteger();
    UnaryOperator<EmbeddedConfig> config = UnaryOperator.identity();

    EmbeddedStore open(Path directory) throws StoreUnusable {
        return open(directory, new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {}

            @Override
            public void told() {}
        });
    }

    EmbeddedStore open(Path directory, LockStore.Listener listener) throws StoreUnusable {
        EmbeddedStore store = EmbeddedStore.open(
                config.apply(EmbeddedConfig.in(directory)),
                Limits.DEFAULTS,
                wallMillis::get,
                nanos::get,
                epochs.incrementAndGet() * 7919,
                why -> {
                    throw new AssertionError("fatal: " + why);
                });
        store.listen(listener);
        return store;
    }

    void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
        wallMillis.addAndGet(time.toMillis());
    }

    static SessionId session(long number) {
        return new SessionId(77, number);
    }

    static Acquire acquire(String lock, long session, long request, Duration wait) {
        return acquire(lock, session, request, wait, Mode.EXCLUSIVE, Duration.ZERO, Duration.ZERO);
    }

    /** A try with a minimum hold time. */
    static Acquire holding(String lock, long session, long request, Duration lockAtLeastFor) {
        return acquire(
                lock, session, request, Duration.ZERO, Mode.EXCLUSIVE, Duration.ZERO, lockAtLeastFor, Duration.ZERO);
    }

    static Acquire acquire(
            String lock, long session, long request, Duration wait, Mode mode, Duration lockDelay, Duration age) {
        return acquire(lock, session, request, wait, mode, lockDelay, Duration.ZERO, age);
    }

    private static Acquire acquire(
            String lock,
            long session,
            long request,
            Duration wait,
            Mode mode,
            Duration lockDelay,
            Duration lockAtLeastFor,
            Duration age) {
        return new Acquire(
                new LockName(lock),
                new Request(
                        new RequestId(session(session), request),
                        1,
                        new GrantId(session, request),
                        mode,
                        10_000,
                        lockDelay.toMillis(),
                        lockAtLeastFor.toMillis(),
                        "owner" + session,
                        ""),
                wait.toMillis(),
                age.toMillis(),
                Long.MAX_VALUE);
    }

    static Release release(LockName lock, Grant grant) {
        return new Release(lock, grant.id(), grant.token(), grant.request().id().session());
    }

    static Release release(LockName lock, GrantId grant, FencingToken token, long session) {
        return new Release(lock, grant, token, session(session));
    }

    static Answer ask(LockStore store, Command command) {
        try {
            return store.execute(command).toCompletableFuture().get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            return Assertions.fail("no answer to " + command, e);
        }
    }

    static Grant granted(LockStore store, Command command) {
        Answer answer = ask(store, command);
        if (answer instanceof Answer.Granted granted) {
            return granted.grant();
        }
        return Assertions.fail("not granted: " + answer);
    }

    static LockState described(LockStore store, String lock) {
        return ((Answer.Described) ask(store, new Describe(new LockName(lock)))).state();
    }

    static LockName name(String lock) {
        return new LockName(lock);
    }
}
