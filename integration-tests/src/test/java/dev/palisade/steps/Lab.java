package dev.palisade.steps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.AppliedCall;
import dev.palisade.check.Counter;
import dev.palisade.check.Granted;
import dev.palisade.check.Increment;
import dev.palisade.check.Marks;
import dev.palisade.check.Run;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.patience.PatientPostgres;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** What all gateways of a test have in common: lock server, PostgreSQL, the service behind them, and the record of the run. */
final class Lab implements AutoCloseable {
    final Installation installation = Installation.fresh();
    final Service lockServer = installation.server();
    final Backend backend = new Backend(installation);
    final EmbeddedPostgres postgres;
    private final PalisadeClient client = PalisadeClient.connect(lockServer.address());
    private final AtomicInteger names = new AtomicInteger();
    private final List<Granted> grants = Collections.synchronizedList(new ArrayList<>());
    private final List<Increment> increments = Collections.synchronizedList(new ArrayList<>());

    Lab() {
        try {
            postgres = PatientPostgres.builder()
                    .setServerConfig("synchronous_commit", "on")
                    .setServerConfig("fsync", "off") // The database is not killed here.
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A name that was not used before. */
    String name(String of) {
        return of + names.incrementAndGet();
    }

    Lease acquire(String lock) {
        long asked = System.nanoTime();
        try {
            AcquireResult result = client.tryAcquire(
                    lock, AcquireOptions.waiting(Duration.ofSeconds(60)).ttl(Duration.ofMinutes(2)));
            assertThat(result).isInstanceOf(AcquireResult.Granted.class);
            Lease lease = ((AcquireResult.Granted) result).lease();
            grants.add(new Granted(
                    "client", lock, false, lease.token().value(), lease.grant().toString(), asked, System.nanoTime()));
            return lease;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    void record(String key, String content, HttpCall.Reply reply) {
        increments.add(new Increment(content, key, content, reply.fate()));
    }

    /** The content with which an increment to {@code value} is sent: no other has it. */
    String content(long value) {
        return value + " " + name("op");
    }

    static long value(String content) {
        return content.isEmpty() ? 0 : Long.parseLong(content.split(" ", 2)[0]);
    }

    /** Everything so far about the keys that begin so. */
    Run run(String prefix, List<Marks> marks) {
        List<AppliedCall> applied = backend.applied().stream()
                .filter(call -> call.key().startsWith(prefix))
                .toList();
        Map<String, String> last = new HashMap<>();
        applied.stream().filter(AppliedCall::write).forEach(call -> last.put(call.key(), call.contentHash()));
        List<Counter> counters = last.entrySet().stream()
                .map(entry -> new Counter(entry.getKey(), value(entry.getValue()), entry.getValue()))
                .toList();
        synchronized (grants) {
            synchronized (increments) {
                return new Run(
                        grants.stream()
                                .filter(each -> each.lock().startsWith(prefix))
                                .toList(),
                        increments.stream()
                                .filter(each -> each.key().startsWith(prefix))
                                .toList(),
                        applied,
                        marks,
                        counters);
            }
        }
    }

    @Override
    public void close() {
        client.close();
        backend.close();
        lockServer.child().kill();
        try {
            postgres.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        installation.close();
    }
}
