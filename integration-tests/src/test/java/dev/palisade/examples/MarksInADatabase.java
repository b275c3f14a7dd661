package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.grpc.LockServer;
import dev.palisade.guard.mark.JdbcMarkStore;
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
        JdbcMarkStore marks = JdbcMarkStore.over(dataSource);
        marks.createTable();
        return Guard.builder(KeysetFile.open(keyset).verifier("palisade"), marks)
                .lockService(LockServer.at(locks, "palisade"))
                .build();
        // end
    }
}
