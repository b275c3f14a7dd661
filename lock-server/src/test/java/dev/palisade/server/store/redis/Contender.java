package dev.palisade.server.store.redis;

import static dev.palisade.server.store.log.Asking.name;
import static dev.palisade.server.store.log.Asking.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.redis.RedisProcess;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Renew;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A client that asks lock servers in turn, one call at a time: for a lock that is held, and for a free one. So the held one must never be
 * granted, and tokens must increase.
 */
final class Contender implements AutoCloseable {
    static final String HELD = "held";

    private static final long PAUSE_NANOS = 1_000_000;
    private static final Duration AT_MOST = Duration.ofSeconds(30);

    final Grant held;

    private final List<SharedLogStore> servers;
    private final Queue<Granted> granted = new ConcurrentLinkedQueue<>();
    private final AtomicInteger answers = new AtomicInteger();
    private final Thread thread = new Thread(this::run, "contender");
    private final Map<SharedLogStore, Object> lastAnswers = new ConcurrentHashMap<>();
    private volatile boolean closed;

    private record Granted(SharedLogStore server, String lock, long token, long atMillis) {}

    /** Of the lease of the lock that is held. */
    static Renew renewal(Grant held) {
        return new Renew(
                name(HELD), held.id(), held.token(), held.request().id().session());
    }

    /** @param active grants the lock that is held */
    Contender(SharedLogStore active, SharedLogStore standby) {
        servers = List.of(active, standby);
        held = active.granted(HELD);
        thread.start();
    }

    /** Returns when {@code replica} is the primary. */
    static void awaitPromotion(RedisProcess replica) {
        await().atMost(AT_MOST).until(() -> replica.info("role").equals("master"));
    }

    /** {@code server} renews the lease of the lock that is held. */
    void assertHeldAt(SharedLogStore server) {
        assertThat(server.ask(renewal(held))).isInstanceOf(Answer.Renewed.class);
    }

    private void run() {
        for (int i = 0; !closed; i++) {
            SharedLogStore server = servers.get(i % servers.size());
            tryLock(server, HELD);
            tryLock(server, "free/" + i % 100);
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private void tryLock(SharedLogStore server, String lock) {
        Object answer = server.tryLock(lock);
        if (answer instanceof Answer.Granted given) {
            granted.add(new Granted(server, lock, given.grant().token().value(), System.currentTimeMillis()));
            var unused = server.ask(release(name(lock), given.grant()));
        }
        lastAnswers.put(server, answer);
        answers.incrementAndGet();
    }

    /** Returns when a request that is sent from now on was granted. */
    long awaitGrant() {
        return awaitNext().atMillis();
    }

    /** The same, and it must be by {@code server}. */
    long awaitGrantOf(SharedLogStore server) {
        Granted next = awaitNext();
        assertThat(next.server()).isSameAs(server);
        return next.atMillis();
    }

    private Granted awaitNext() {
        int before = granted.size() + 1; // One may be on its way.
        await().atMost(AT_MOST)
                .pollInterval(Duration.ofMillis(10))
                .untilAsserted(() -> assertThat(granted.size())
                        .as(() -> "the last answers were " + lastAnswers.values())
                        .isGreaterThan(before));
        return List.copyOf(granted).get(before);
    }

    /** Waits for some answers to requests that are sent from now on. */
    void awaitAnswers() {
        int before = answers.get() + 2;
        await().atMost(AT_MOST).pollInterval(Duration.ofMillis(10)).until(() -> answers.get() > before);
    }

    long newestToken() {
        return granted.stream().mapToLong(Granted::token).max().orElse(0);
    }

    /** Ends it, and compares all that was granted. */
    @Override
    public void close() {
        closed = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        assertThat(granted).extracting(Granted::lock).doesNotContain(HELD);
        assertThat(granted).extracting(Granted::token).isSorted().doesNotHaveDuplicates();
    }
}
