package dev.palisade.client;

import java.util.function.LongSupplier;

/**
 * The monotonic clock and the wall clock. Only {@link PalisadeClient} names those of the system.
 *
 * @param nanos monotonic
 * @param wallMillis since 1970
 */
record Clocks(LongSupplier nanos, LongSupplier wallMillis) {
    ClockReading now() {
        return new ClockReading(nanos.getAsLong(), wallMillis.getAsLong());
    }
}
