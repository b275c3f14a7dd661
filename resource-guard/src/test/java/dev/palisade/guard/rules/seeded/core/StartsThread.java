package dev.palisade.guard.rules.seeded.core;

/** A seeded violation: pure code that starts a thread. */
final class StartsThread {
    void run() {
        new Thread(() -> {}).start();
    }
}
