package dev.palisade.server.engine;

/** Runs a task once, after a time. The engine's only way to wait. */
@FunctionalInterface
public interface Timer {
    void after(long millis, Runnable task);
}
