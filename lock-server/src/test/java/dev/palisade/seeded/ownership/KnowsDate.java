package dev.palisade.seeded.ownership;

import java.util.Date;

/** Seeded violation. */
public final class KnowsDate {
    @SuppressWarnings("JavaUtilDate")
    static long time(Date date) {
        return date.getTime();
    }
}
