package dev.palisade.guard;

import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The list of a guard's observers, which costs a call nothing while it is empty. Safe for use by many threads. */
final class ArrivalObservers {
    private static final System.Logger LOG = System.getLogger(ArrivalObservers.class.getName());

    private final List<Admission.Observer> all = new CopyOnWriteArrayList<>();

    void add(Admission.Observer observer) {
        all.add(observer);
    }

    /** Runs {@code enter}, with notifications of the arrival before and of the outcome after it. */
    CompletableFuture<Admission> arriving(
            SignedSequencer signed,
            Access access,
            List<Binding> resources,
            Supplier<CompletableFuture<Admission>> enter) {
        if (all.isEmpty()) {
            return enter.get();
        }
        List<Admission.Arrival> arrivals = new ArrayList<>(all.size());
        for (Admission.Observer observer : all) {
            guarded(() -> arrivals.add(observer.arriving(signed, access, resources)));
        }
        CompletableFuture<Admission> entering = enter.get();
        if (entering.isDone()) {
            var unused = entering.whenComplete((admission, failure) -> outcome(arrivals, entering, admission, failure));
            return entering;
        }
        return MultiAdmission.answerAfter(
                entering, (admission, failure) -> outcome(arrivals, entering, admission, failure));
    }

    private static void outcome(
            List<Admission.Arrival> arrivals,
            CompletableFuture<Admission> entering,
            @Nullable Admission admission,
            @Nullable Throwable failure) {
        if (admission != null) {
            each(arrivals, arrival -> arrival.admitted(admission));
        } else if (entering.isCancelled()) {
            each(arrivals, Admission.Arrival::left);
        } else if (failure != null) {
            Rejection why = MultiAdmission.rejected(failure).rejection();
            each(arrivals, arrival -> arrival.refused(why));
        }
    }

    /** A refusal without an arrival. */
    void refused(Rejection why) {
        each(all, observer -> observer.refused(why));
    }

    private static <T> void each(List<T> observers, Consumer<T> notification) {
        for (T observer : observers) {
            guarded(() -> notification.accept(observer));
        }
    }

    /** What an observer throws must not refuse a call, and must not keep one in. */
    private static void guarded(Runnable notification) {
        try {
            notification.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "an observer of the guard threw; the guard goes on without this notification", e);
        }
    }
}
