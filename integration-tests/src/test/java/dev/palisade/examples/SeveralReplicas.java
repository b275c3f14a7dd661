package dev.palisade.examples;

import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.Channel;
import java.io.IOException;
import java.nio.file.Path;
import javax.sql.DataSource;

/** The guard of one of several replicas: all share marks and running calls in one database. */
public final class SeveralReplicas {
    private SeveralReplicas() {}

    /** @param locks to the lock server */
    public static Guard guard(DataSource dataSource, Path keyset, Channel locks) throws IOException {
        // snippet
        MarkStore.createTables(dataSource);
        return Guard.builder(KeysetFile.open(keyset).verifier("palisade"), MarkStore.shared(dataSource))
                .lockService(GrpcLockService.at(locks, "palisade"))
                .build();
        // end
    }
}
