package dev.palisade.guard;

import dev.palisade.contract.Sequencer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Admissions without a guard. */
public final class Admissions {
    private Admissions() {}

    /** One whose unknown outcome every guard knows of when {@code announced} completes. */
    public static Admission announcedBy(CompletableFuture<Void> announced) {
        return new Admission(List.of(new AdmittedCall() {
            @Override
            public Sequencer sequencer() {
                throw new IllegalStateException("nobody holds it");
            }

            @Override
            public void ended() {}

            @Override
            public CompletionStage<Void> outcomeUnknown() {
                return announced;
            }

            @Override
            public void callerGone() {}

            @Override
            public void onSuperseded(Runnable what) {}
        }));
    }
}
