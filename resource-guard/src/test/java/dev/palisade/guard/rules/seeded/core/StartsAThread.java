package dev.palisade.guard.rules.seeded.core;

/** A seeded violation: pure code that starts a thread. */
final class StartsAThread {
    void run() {
        new Thread(() -> {}).start();
    }
}
