package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.contract.LostReason;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The list of a client's observers, which costs an acquire nothing while it is empty. Safe for use by many threads. */
final class Observers {
    /** The observer of acquires that nothing observes. */
    static final AcquireObserver NONE = new AcquireObserver() {};

    private static final int TRACEPARENT_CHARS_MAX = 128;
    private static final System.Logger LOG = System.getLogger(Observers.class.getName());

    private final List<ClientObserver> all = new CopyOnWriteArrayList<>();

    void add(ClientObserver observer) {
        all.add(observer);
    }

    AcquireObserver acquiring(LockName lock, AcquireOptions options) {
        return all.isEmpty()
                ? NONE
                : new Fanout(all.stream()
                        .map(observer -> begun(observer, lock, options))
                        .toList());
    }

    private static AcquireObserver begun(ClientObserver observer, LockName lock, AcquireOptions options) {
        try {
            @Nullable AcquireObserver begun = observer.acquiring(lock, options);
            return begun == null ? NONE : begun;
        } catch (RuntimeException | Error e) {
            failed(e);
            return NONE;
        }
    }

    private static void failed(Throwable failure) {
        LOG.log(Level.WARNING, "an observer threw; the client goes on without this notification", failure);
    }

    /**
     * An observer that passes each notification on to several; one that throws keeps nothing from the others or the
     * client.
     */
    private record Fanout(List<AcquireObserver> observers) implements AcquireObserver {
        private void each(Consumer<AcquireObserver> notification) {
            for (AcquireObserver observer : observers) {
                try {
                    notification.accept(observer);
                } catch (RuntimeException | Error e) {
                    Observers.failed(e);
                }
            }
        }

        @Override
        public String traceparent() {
            for (AcquireObserver observer : observers) {
                try {
                    @Nullable String traceparent = observer.traceparent();
                    if (traceparent != null
                            && !traceparent.isEmpty()
                            && traceparent.length() <= TRACEPARENT_CHARS_MAX) {
                        return traceparent;
                    }
                } catch (RuntimeException | Error e) {
                    Observers.failed(e);
                }
            }
            return "";
        }

        @Override
        public void queued() {
            each(AcquireObserver::queued);
        }

        @Override
        public void offered() {
            each(AcquireObserver::offered);
        }

        @Override
        public void ended(AcquireResult result) {
            each(observer -> observer.ended(result));
        }

        @Override
        public void failed(RuntimeException failure) {
            each(observer -> observer.failed(failure));
        }

        @Override
        public void leaseEnded(Duration held, Optional<LostReason> lost) {
            each(observer -> observer.leaseEnded(held, lost));
        }
    }
}
