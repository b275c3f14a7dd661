package dev.palisade.server.store.log;

import com.google.protobuf.InvalidProtocolBufferException;
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
import dev.palisade.server.store.embedded.Durability;
import dev.palisade.server.store.embedded.EmbeddedConfig;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.embedded.Journals;
import dev.palisade.server.store.log.format.Record;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Assertions;

/** A store with clocks in the test's hand, and the commands that tests send it. */
public final class Asking {
    public static final long START = 1_800_000_000_000L;

    public final AtomicLong wallMillis = new AtomicLong(START);
    public final AtomicLong nanos = new AtomicLong(-5_000_000_000L);
    public final AtomicInteger epochs = new AtomicInteger();
    public LoggedStoreConfig config = LoggedStoreConfig.DEFAULTS;
    public Durability durability = Durability.SYNCED;

    public LoggedStore open(Path directory) throws StoreUnusable {
        return open(directory, new LockStore.Listener() {
            @Override
            public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {}

            @Override
            public void told() {}
        });
    }

    public LoggedStore open(Path directory, LockStore.Listener listener) throws StoreUnusable {
        LoggedStore store = EmbeddedStore.open(
                new EmbeddedConfig(directory, durability, config),
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

    /** The log of the closed store in {@code directory}. */
    public static FencedLog journal(Path directory) throws StoreUnusable {
        return Journals.open(directory);
    }

    public void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
        wallMillis.addAndGet(time.toMillis());
    }

    public static SessionId session(long number) {
        return new SessionId(77, number);
    }

    public static Acquire acquire(String lock, long session, long request, Duration wait) {
        return acquire(lock, session, request, wait, Mode.EXCLUSIVE, Duration.ZERO, Duration.ZERO);
    }

    /** A try with a minimum hold time. */
    public static Acquire holding(String lock, long session, long request, Duration lockAtLeastFor) {
        return acquire(
                lock, session, request, Duration.ZERO, Mode.EXCLUSIVE, Duration.ZERO, lockAtLeastFor, Duration.ZERO);
    }

    public static Acquire acquire(
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

    public static Release release(LockName lock, Grant grant) {
        return new Release(lock, grant.id(), grant.token(), grant.request().id().session());
    }

    public static Release release(LockName lock, GrantId grant, FencingToken token, long session) {
        return new Release(lock, grant, token, session(session));
    }

    public static Answer ask(LockStore store, Command command) {
        try {
            return store.execute(command).toCompletableFuture().get(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            return Assertions.fail("no answer to " + command, e);
        }
    }

    public static Grant granted(LockStore store, Command command) {
        Answer answer = ask(store, command);
        if (answer instanceof Answer.Granted granted) {
            return granted.grant();
        }
        return Assertions.fail("not granted: " + answer);
    }

    public static LockState described(LockStore store, String lock) {
        return ((Answer.Described) ask(store, new Describe(new LockName(lock)))).state();
    }

    public static LockName name(String lock) {
        return new LockName(lock);
    }

    static boolean isEpoch(byte[] record) {
        try {
            return Record.parseFrom(record).hasEpoch();
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** A private field of the store's lock table: what is known in memory shows in no reply. */
    static Object ofTable(LoggedStore store, String name) throws ReflectiveOperationException {
        Field table = LoggedStore.class.getDeclaredField("table");
        table.setAccessible(true);
        Field field = LockTable.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(table.get(store));
    }
}
