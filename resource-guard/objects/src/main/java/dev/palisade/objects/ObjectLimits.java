package dev.palisade.objects;

import java.time.Duration;

/**
 * What the storage refuses by size and time.
 *
 * @param objectBytesMax the largest object, 1 byte to 16 MiB
 * @param lockWait how long a call waits for calls of other grants, 1 ms to 1 h
 */
record ObjectLimits(int objectBytesMax, Duration lockWait) {
    static final int OBJECT_BYTES_DEFAULT = 1 << 20;
    static final int OBJECT_BYTES_MOST = 16 << 20;

    /** @throws IllegalArgumentException in one line, naming the limit */
    ObjectLimits {
        if (objectBytesMax < 1 || objectBytesMax > OBJECT_BYTES_MOST) {
            throw new IllegalArgumentException(
                    "--object-bytes-max is " + objectBytesMax + "; use 1 to " + OBJECT_BYTES_MOST);
        }
        if (lockWait.toMillis() < 1 || lockWait.compareTo(Duration.ofHours(1)) > 0) {
            throw new IllegalArgumentException("--lock-wait is " + lockWait.toMillis() + "ms; use 1ms to 1h, as in 5s");
        }
    }
}
