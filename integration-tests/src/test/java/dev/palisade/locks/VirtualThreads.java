package dev.palisade.locks;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.AdvisoryLock;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A process of a newer JDK: many virtual threads take, re-enter, wait for and release locks through one client. Written in Java 17, so
 * that it finds what is of virtual threads by its name. Prints how many were done.
 */
final class VirtualThreads {
    private static final int LOCKS = 50;
    /** Enough that some wait for others, in every kind of work. */
    private static final int FIRST = 4 * LOCKS;

    private VirtualThreads() {}

    /** @param args address, number of threads, and anything for one more thread that is pinned on purpose */
    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[1]);
        try (PalisadeClient client = PalisadeClient.connect(args[0])) {
            // First on threads that cannot be pinned: whoever uses a class first keeps its carrier while the JDK loads
            // it.
            int first = allDone(client, Executors.newFixedThreadPool(8), FIRST);
            if (first < FIRST) {
                throw new IllegalStateException("of the first " + FIRST + " only " + first + " were done");
            }
            ExecutorService virtual = (ExecutorService)
                    Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            int done = allDone(client, virtual, threads);
            if (args.length > 2) {
                waitPinned(client);
            }
            System.out.println("done " + done);
        }
    }

    private static int allDone(PalisadeClient client, ExecutorService executor, int threads)
            throws InterruptedException {
        AtomicInteger done = new AtomicInteger();
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            int number = i;
            executor.execute(() -> {
                try {
                    work(client, number);
                    done.incrementAndGet();
                } catch (InterruptedException | RuntimeException e) {
                    System.out.println("failed: " + e);
                } finally {
                    all.countDown();
                }
            });
        }
        all.await();
        executor.shutdown();
        return done.get();
    }

    /** Each lock is wanted by many at once, so that most of them wait. */
    private static void work(PalisadeClient client, int number) throws InterruptedException {
        String lock = "virtual/" + number % LOCKS;
        Duration minutes = Duration.ofMinutes(2);
        switch (number % 4) {
            case 0 -> {
                try (Lease lease = client.acquire(lock, minutes);
                        Lease again = lease.reenter()) {
                    again.ensureValidFor(Duration.ofSeconds(1));
                }
            }
            case 1 -> client.runLocked(lock, AcquireOptions.waiting(minutes), lease -> Thread.sleep(1));
            case 2 -> {
                AdvisoryLock advisory = client.advisoryLock(lock, AcquireOptions.trying());
                advisory.lockInterruptibly();
                try {
                    again(advisory);
                } finally {
                    advisory.unlock();
                }
            }
            default -> {
                AcquireResult result = client.acquireAsync(lock, AcquireOptions.waiting(minutes))
                        .join();
                if (result instanceof AcquireResult.Granted granted) {
                    granted.lease().close();
                } else {
                    throw new IllegalStateException("not granted: " + result);
                }
            }
        }
    }

    private static void again(AdvisoryLock advisory) throws InterruptedException {
        advisory.lock();
        try {
            advisory.lease().ensureValidFor(Duration.ofSeconds(1));
        } finally {
            advisory.unlock();
        }
    }

    /** A wait for a lock in a class initializer, which keeps its carrier on every JDK: the test must see it. */
    private static void waitPinned(PalisadeClient client) throws Exception {
        Pinned.client = client;
        Thread waiter;
        try (Lease lease = client.acquire(Pinned.LOCK)) {
            lease.ensureValidFor(Duration.ofSeconds(1));
            waiter = (Thread)
                    Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable)
                            () -> Pinned.Initializer.touch());
            while (client.describe(Pinned.LOCK).waitersTotal() == 0) {
                Thread.sleep(10);
            }
        }
        waiter.join();
    }

    private static final class Pinned {
        static final String LOCK = "virtual/pinned";

        static @Nullable PalisadeClient client;

        private Pinned() {}

        private static final class Initializer {
            static {
                try {
                    Objects.requireNonNull(client).acquire(LOCK).close();
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }

            static void touch() {
                // Its first use initializes the class.
            }
        }
    }
}
