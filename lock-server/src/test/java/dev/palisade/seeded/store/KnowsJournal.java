package dev.palisade.seeded.store;

import org.apache.activemq.artemis.core.journal.RecordInfo;

/** Seeded violation. */
public final class KnowsJournal {
    static long id(RecordInfo info) {
        return info.id;
    }
}
