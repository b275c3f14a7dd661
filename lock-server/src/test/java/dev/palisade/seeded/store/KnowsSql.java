package dev.palisade.seeded.store;

import java.sql.Date;

/** Seeded violation. */
public final class KnowsSql {
    static String day(Date date) {
        return date.toString();
    }
}
