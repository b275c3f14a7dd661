package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.Channel;
import java.io.IOException;
import java.nio.file.Path;
import javax.sql.DataSource;

/** A guard whose place another machine can take, because its marks are in a database. */
public final class MarksInADatabase {
    private MarksInADatabase() {}

    /** @param locks to the lock server */
    public static Guard guard(DataSource dataSource, Path keyset, Channel locks) throws IOException {
        // snippet
        MarkStore.createTables(dataSource);
        return Guard.builder(KeysetFile.open(keyset).verifier("palisade"), MarkStore.jdbc(dataSource))
                .lockService(GrpcLockService.at(locks, "palisade"))
                .build();
        // end
    }
}
