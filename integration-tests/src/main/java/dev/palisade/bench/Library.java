package dev.palisade.bench;

import java.util.Locale;

/** What callers take their locks with. */
enum Library {
    /** Our SDK; the address is a lock server's. */
    PALISADE,
    /** RFencedLock; the address is a Redis's. */
    REDISSON,
    /** SET NX and INCR in a script of one's own; the address is a Redis's. */
    LETTUCE,
    /** Advisory locks of sessions; the address is a JDBC URL. */
    POSTGRES;

    /** A client that is connected to {@code address} as if it were a process of its own. */
    Locks connect(String address) {
        return switch (this) {
            case PALISADE -> new PalisadeLocks(address);
            case REDISSON -> new RedissonLocks(address);
            case LETTUCE -> new LettuceLocks(address);
            case POSTGRES -> new PostgresLocks(address);
        };
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
