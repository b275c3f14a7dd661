package dev.palisade.sessions;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A client process that takes any number of locks at a time and says what happens to each, with the machine's monotonic time
 * in nanoseconds.
 *
 * <pre>
 * take LOCK TTL_MILLIS WAIT_MILLIS   later: granted LOCK TOKEN AT | not-granted LOCK RESULT
 * release LOCK                       released LOCK OUTCOME
 * valid LOCK                         valid LOCK true|false WALL_MILLIS
 *                                    lost LOCK REASON AT, when it is lost
 *                                    woke AT, when the process was stopped for a while and goes on
 *                                    looked LOCK true|false, whether the lease was valid by the first look after that
 * </pre>
 */
final class Tenant {
    private static final long STOPPED_NANOS = 700_000_000;

    private final PalisadeClient client;
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();
    private int takes;

    private Tenant(PalisadeClient client) {
        this.client = client;
    }

    public static void main(String[] args) throws IOException {
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(args[1].split(","))
                .owner(args[0])
                .build()) {
            Tenant tenant = new Tenant(client);
            Thread watch = new Thread(tenant::watch, "watch");
            watch.setDaemon(true);
            watch.start();
            tenant.run();
        }
    }

    private void run() throws IOException {
        say("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 4);
            switch (words[0]) {
                case "take" -> take(words[1], Long.parseLong(words[2]), Long.parseLong(words[3]));
                case "release" ->
                    say("released " + words[1] + " " + held(words[1]).release());
                case "valid" ->
                    say("valid " + words[1] + " " + held(words[1]).isValid() + " " + System.currentTimeMillis());
                default -> say("what? " + line);
            }
        }
    }

    private void take(String lock, long ttlMillis, long waitMillis) {
        // Each in a place of its own.
        AcquireOptions options = AcquireOptions.waiting(Duration.ofMillis(waitMillis))
                .ttl(Duration.ofMillis(ttlMillis))
                .purpose("take " + ++takes);
        var unused = client.acquireAsync(lock, options).thenAccept(result -> {
            if (result instanceof AcquireResult.Granted granted) {
                Lease lease = granted.lease();
                leases.put(lock, lease);
                say("granted " + lock + " " + lease.token() + " " + System.nanoTime());
                lease.onLost(reason -> say("lost " + lock + " " + reason + " " + System.nanoTime()));
            } else {
                say("not-granted " + lock + " " + result);
            }
        });
    }

    private Lease held(String lock) {
        Lease lease = leases.get(lock);
        if (lease == null) {
            throw new IllegalArgumentException("take " + lock + " first");
        }
        return lease;
    }

    private void watch() {
        long last = System.nanoTime();
        while (true) {
            LockSupport.parkNanos(2_000_000);
            long now = System.nanoTime();
            if (now - last > STOPPED_NANOS) {
                // Looked at first, said afterwards.
                leases.forEach((lock, lease) -> say("looked " + lock + " " + lease.isValid()));
                say("woke " + now);
            }
            last = System.nanoTime();
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
    }
}
