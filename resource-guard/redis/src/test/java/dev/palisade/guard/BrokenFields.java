package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.guard.MarkStore.SharedFields;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Fields whose steps fail as a test says: before, after or long before their effect. */
class BrokenFields implements SharedFields {
    private final SharedFields real;

    /** Whether writes that break have taken effect; null: none breaks. */
    volatile @Nullable Boolean takeEffect;

    /** What each step throws; null: nothing. */
    volatile @Nullable Throwable failure;

    final AtomicInteger failures = new AtomicInteger();

    BrokenFields(SharedFields real) {
        this.real = real;
    }

    /** Steps are refused, slow, broken before or after their effect, or take effect when it is too late. */
    static BrokenFields atRandom(SharedFields real, Random random) {
        return new BrokenFields(real) {
            private volatile boolean opened;

            @Override
            public Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
                    throws IOException {
                int dice;
                int micros;
                synchronized (random) {
                    dice = opened ? random.nextInt(100) : 99;
                    micros = random.nextInt(20_000);
                }
                if (dice < 5) {
                    throw Unavailable.because("no connection");
                }
                if (dice < 10) {
                    throw new IOException("broke before the effect");
                }
                if (dice < 15) {
                    var unused = CompletableFuture.runAsync(
                            () -> late(process, expected, changes),
                            CompletableFuture.delayedExecutor(micros, TimeUnit.MICROSECONDS));
                    throw new IOException("broke long before the effect");
                }
                Reply reply = super.compareAndSet(process, expected, changes);
                if (dice < 20) {
                    throw new IOException("broke after the effect");
                }
                opened |= reply.done() && !changes.isEmpty();
                return reply;
            }

            private void late(String process, Map<String, String> expected, Map<String, String> changes) {
                try {
                    var unused = super.compareAndSet(process, expected, changes);
                } catch (IOException | RejectedException e) {
                    // It never took effect.
                }
            }
        };
    }

    @Override
    public Collection<String> inspect() {
        return real.inspect();
    }

    @Override
    public Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
            throws IOException {
        if (failure != null) {
            failures.incrementAndGet();
            if (failure instanceof RuntimeException e) {
                throw e;
            }
            throw (Error) failure;
        }
        Boolean effect = changes.isEmpty() ? null : takeEffect;
        if (Boolean.FALSE.equals(effect)) {
            throw new IOException("the connection broke");
        }
        Reply reply = real.compareAndSet(process, expected, changes);
        if (Boolean.TRUE.equals(effect) && reply.done()) {
            throw new IOException("the connection broke");
        }
        return reply;
    }

    @Override
    public String commandToDelete(String field) {
        return real.commandToDelete(field);
    }
}
