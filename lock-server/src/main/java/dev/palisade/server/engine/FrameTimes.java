package dev.palisade.server.engine;

/**
 * When the last client frames arrived and when the client says it had sent them. Answers one question: what had this
 * server seen before a decision was made? A decision is told later than it is made, so the newest frame at that moment
 * would claim too much. Not thread-safe; guarded by its session.
 */
final class FrameTimes {
    private static final int KEPT = 8;

    private final long[] arrivedMillis = new long[KEPT];
    private final long[] sentNanos = new long[KEPT];
    private int newest;

    void arrived(long nowMillis, long sent) {
        if (arrivedMillis[newest] != nowMillis) {
            newest = (newest + 1) % KEPT;
            arrivedMillis[newest] = nowMillis;
        }
        sentNanos[newest] = sent;
    }

    /** The send time of the newest frame that arrived before {@code millis}; 0 when none is remembered. */
    long sentBefore(long millis) {
        for (int back = 0; back < KEPT; back++) {
            int i = Math.floorMod(newest - back, KEPT);
            if (arrivedMillis[i] != 0 && arrivedMillis[i] < millis) {
                return sentNanos[i];
            }
        }
        return 0;
    }
}
