package dev.palisade.scenario;

import com.google.gson.JsonObject;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Mode;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * A client process of a fault run: from the line {@code start} on, several threads that take a lock, read its counter, add one and write it, until the line
 * {@code stop}. Before each write it waits at the {@link Gate}.
 *
 * <pre>
 * Worker NAME SERVER OBJECTS HISTORY_FILE SEED COUNTERS THREADS TTL_MILLIS
 * </pre>
 */
public final class Worker {
    private static final Duration WAIT = Duration.ofSeconds(10);
    private static final long PAUSE_NANOS = 20_000_000;

    private final String name;
    private final History history;
    private final PalisadeClient client;
    private final GuardedObjects objects;
    private final Gate gate;
    private final int countersTotal;
    private final AcquireOptions options;
    private volatile boolean stopping;

    private Worker(String[] args, PalisadeClient client, ManagedChannel channel) throws IOException {
        this.name = args[0];
        this.history = new History(name, Path.of(args[3]));
        this.client = client;
        this.objects = new GuardedObjects(channel, history);
        this.gate = new Gate(history);
        this.countersTotal = Integer.parseInt(args[5]);
        this.options = AcquireOptions.waiting(WAIT).ttl(Duration.ofMillis(Long.parseLong(args[7])));
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        ManagedChannel channel = Grpc.newChannelBuilder(args[2], InsecureChannelCredentials.create())
                .build();
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(args[1].split(","))
                .owner(args[0])
                .build()) {
            new Worker(args, client, channel).run(Long.parseLong(args[4]), Integer.parseInt(args[6]));
        } finally {
            channel.shutdownNow();
        }
        System.out.println("done");
    }

    private void run(long seed, int threadsTotal) throws IOException, InterruptedException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready");
        if (!"start".equals(in.readLine())) {
            return;
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < threadsTotal; i++) {
            int index = i;
            Thread thread = new Thread(() -> work(index, new Random(seed * 31 + index)), name + "." + i);
            threads.add(thread);
            thread.start();
        }
        for (String line = in.readLine(); line != null && !line.equals("stop"); line = in.readLine()) {
            gate.go(line.substring("go ".length()));
        }
        stopping = true;
        gate.open();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void work(int index, Random random) {
        try {
            rounds(index, random);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // Nobody wants its work any more.
        }
    }

    private void rounds(int index, Random random) throws InterruptedException {
        for (int round = 0; !stopping; round++) {
            int counter = random.nextInt(5) == 0 ? random.nextInt(countersTotal) : index % countersTotal;
            boolean shared = random.nextInt(6) == 0;
            String lock = "counter/" + counter;
            JsonObject event = history.event("granted");
            event.addProperty("asked", System.nanoTime());
            event.addProperty("lock", lock);
            AcquireResult result = client.tryAcquire(lock, shared ? options.shared() : options);
            event.addProperty("at", System.nanoTime());
            if (!(result instanceof AcquireResult.Granted granted)) {
                event.addProperty("event", "not-granted");
                event.addProperty("reason", result.toString());
                history.write(event);
                LockSupport.parkNanos(PAUSE_NANOS); // Not so fast: nobody can answer at the moment.
                continue;
            }
            try (Lease lease = granted.lease()) {
                event.addProperty("mode", lease.mode().name());
                event.addProperty("token", lease.token().value());
                event.addProperty("grant", lease.grant().toString());
                history.write(event);
                use(lease, name + "." + index + "-" + round, random);
            }
        }
    }

    private void use(Lease lease, String round, Random random) {
        Optional<Long> count = objects.read(lease).map(Worker::count);
        if (lease.mode() == Mode.SHARED) {
            return;
        }
        int writes = random.nextInt(4) == 0 ? 2 : 1;
        for (int i = 1; i <= writes && count.isPresent(); i++) {
            String op = round + "-" + i;
            String text = (count.get() + i) + " " + op;
            gate.await(lease, op, text);
            if (!objects.write(lease, op, text)) {
                objects.read(lease); // Refused or unknown: whoever goes on must read again; this one gives up.
                return;
            }
        }
    }

    /** Of the text {@code COUNT OP}, which names the increment that made it. */
    private static long count(String text) {
        return text.isEmpty() ? 0 : Long.parseLong(text.substring(0, text.indexOf(' ')));
    }
}
