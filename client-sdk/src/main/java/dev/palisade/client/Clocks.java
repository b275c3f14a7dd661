package dev.palisade.client;

import java.util.function.LongSupplier;

/**
 * The two clocks. Only {@link PalisadeClient} names the real ones.
 *
 * @param nanos monotonic
 * @param wallMillis since 1970
 */
record Clocks(LongSupplier nanos, LongSupplier wallMillis) {
    Moment now() {
        return new Moment(nanos.getAsLong(), wallMillis.getAsLong());
    }
}
