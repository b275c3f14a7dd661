package dev.palisade.server.store.log;

import dev.palisade.server.store.postgresql.Databases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PostgresSharedStoreTest extends SharedStoreInProduct {
    @Override
    SharedLogs openLogs() {
        return new Databases(Asking.START);
    }

    /** Of batches that are gone it learns at the next takeover. */
    @ParameterizedTest
    @EnumSource(names = {"ALL", "HEAD"})
    void theMemoryOfTheActiveServerIsWrittenBack(SharedLogs.Loss loss) throws Exception {
        theMemoryOfTheActiveServerIsWrittenBackAfter(loss);
    }
}
