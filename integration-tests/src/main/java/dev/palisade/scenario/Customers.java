package dev.palisade.scenario;

import com.google.gson.JsonObject;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A process of many customers with one session, each a thread of its own that wants one coupon. A customer takes the lock,
 * reads the list of those who have one, and ends if it stands there or all are gone; otherwise it adds itself and writes
 * the list. Whatever is not acknowledged, refused or unknown, is done again from the lock on. Never looks whether its lease
 * still holds: that is what the guard is for.
 *
 * <pre>
 * Customers NAME SERVER OBJECTS HISTORY_FILE LOCK COUPONS CUSTOMERS TTL_MILLIS
 *
 * ask CUSTOMER   starts this one; it says {@code asking}, and in the end {@code ended} with what it was told
 * go OP          see {@link Gate}
 * look           answered by {@code looked} with the list as an onlooker finds it
 * </pre>
 *
 * Says {@code done} when all CUSTOMERS have ended.
 */
public final class Customers {
    /** What a customer was told in the end. */
    public enum Told {
        COUPON,
        SOLD_OUT
    }

    private static final Duration WAIT = Duration.ofSeconds(60);
    private static final long PAUSE_NANOS = 20_000_000;

    private final History history;
    private final PalisadeClient client;
    private final GuardedObjects objects;
    private final Gate gate;
    private final String lock;
    private final int couponsTotal;
    private final AtomicInteger unserved;
    private final AcquireOptions options;

    private Customers(String[] args, PalisadeClient client, ManagedChannel channel) throws IOException {
        this.history = new History(args[0], Path.of(args[3]));
        this.client = client;
        this.objects = new GuardedObjects(channel, history);
        this.gate = new Gate(history);
        this.lock = args[4];
        this.couponsTotal = Integer.parseInt(args[5]);
        this.unserved = new AtomicInteger(Integer.parseInt(args[6]));
        this.options = AcquireOptions.waiting(WAIT).ttl(Duration.ofMillis(Long.parseLong(args[7])));
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        ManagedChannel channel = Grpc.newChannelBuilder(args[2], InsecureChannelCredentials.create())
                .build();
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(args[1].split(","))
                .owner(args[0])
                .build()) {
            new Customers(args, client, channel).run();
        } finally {
            channel.shutdownNow();
        }
    }

    /** Those who have a coupon, by a list's text. */
    public static List<String> listed(String text) {
        return text.isEmpty() ? List.of() : List.of(text.split(" "));
    }

    private void run() throws IOException, InterruptedException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        client.describe(lock); // Connected, so that nobody who asks is kept back until then.
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 2);
            switch (words[0]) {
                case "ask" -> start(words[1]);
                case "go" -> gate.go(words[1]);
                case "look" -> look();
                default -> System.out.println("what? " + line);
            }
        }
    }

    private void start(String customer) {
        Thread thread = new Thread(() -> serve(customer), customer);
        thread.setDaemon(true);
        thread.start();
    }

    private void look() {
        JsonObject looked = history.event("looked");
        looked.addProperty("content", objects.look(lock));
        history.write(looked);
    }

    private void serve(String customer) {
        Optional<Told> told = Optional.empty();
        for (int attempt = 1; told.isEmpty(); attempt++) {
            told = attempt(customer, customer + "-" + attempt);
        }
        JsonObject ended = history.event("ended");
        ended.addProperty("customer", customer);
        ended.addProperty("told", told.get().name());
        history.write(ended);
        if (unserved.decrementAndGet() == 0) {
            System.out.println("done");
        }
    }

    /** Empty: again, from the lock on. */
    private Optional<Told> attempt(String customer, String op) {
        CompletableFuture<AcquireResult> asked = client.acquireAsync(lock, options);
        JsonObject asking = history.event("asking");
        asking.addProperty("customer", customer);
        history.write(asking); // Not before it is sent: who asks next is to be behind it in the queue.
        AcquireResult result = asked.join();
        if (!(result instanceof AcquireResult.Granted granted)) {
            JsonObject event = history.event("not-granted");
            event.addProperty("customer", customer);
            event.addProperty("reason", result.toString());
            history.write(event);
            LockSupport.parkNanos(PAUSE_NANOS); // Not so fast: nobody can answer at the moment.
            return Optional.empty();
        }
        try (Lease lease = granted.lease()) {
            JsonObject event = history.event("granted");
            event.addProperty("customer", customer);
            event.addProperty("token", lease.token().value());
            event.addProperty("grant", lease.grant().toString());
            history.write(event);
            return objects.read(lease).flatMap(text -> take(lease, customer, op, text));
        }
    }

    private Optional<Told> take(Lease lease, String customer, String op, String text) {
        List<String> listed = listed(text);
        if (listed.contains(customer)) {
            return Optional.of(Told.COUPON); // A write whose outcome was unknown was applied.
        }
        if (listed.size() >= couponsTotal) {
            return Optional.of(Told.SOLD_OUT);
        }
        String longer = text.isEmpty() ? customer : text + " " + customer;
        gate.await(lease, op, longer);
        return objects.write(lease, op, longer) ? Optional.of(Told.COUPON) : Optional.empty();
    }
}
