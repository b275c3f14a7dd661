package dev.palisade.seeded.ownership;

import java.util.Timer;

/** Seeded violation. */
public final class KnowsTimer {
    static void stop(Timer timer) {
        timer.cancel();
    }
}
