package dev.palisade.steps;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;

/** One round trip to the register that is to be withheld, or is. */
final class Hold {
    /**
     * What is withheld.
     *
     * @param kind of the transaction, as far as its statements tell
     * @param text the statements of the round trip
     * @param isOpen whether the database still has the connection
     */
    record Withheld(Transaction.Kind kind, String text, BooleanSupplier isOpen) {}

    private final Side side;
    private final boolean ofGuard;
    private final CompletableFuture<Withheld> withheld = new CompletableFuture<>();
    private final CountDownLatch released = new CountDownLatch(1);
    private int left;

    Hold(int number, Side side, boolean ofGuard) {
        this.left = number;
        this.side = side;
        this.ofGuard = ofGuard;
    }

    Side side() {
        return side;
    }

    /** Whether round trips of the guard's own transactions are counted, and not those of its calls. */
    boolean isOfGuard() {
        return ofGuard;
    }

    /** One round trip; called under the relay's lock. */
    boolean countDown() {
        return --left == 0;
    }

    /** Blocks the connection until {@link #release}. */
    void withhold(Transaction.Kind kind, String text, BooleanSupplier isOpen) {
        withheld.complete(new Withheld(kind, text, isOpen));
        try {
            released.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Completes when it is withheld. */
    CompletableFuture<Withheld> withheld() {
        return withheld;
    }

    void release() {
        released.countDown();
    }
}
