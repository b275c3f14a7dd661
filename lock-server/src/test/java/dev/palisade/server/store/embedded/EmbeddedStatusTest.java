package dev.palisade.server.store.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.store.log.Asking;
import dev.palisade.server.store.log.LoggedStore;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the embedded store says of itself. */
class EmbeddedStatusTest {
    private final Asking asking = new Asking();

    @Test
    void anOpenStoreIsUpAndTellsWhereItIsAndWhichEpochEachStartBegan(@TempDir Path directory) throws Exception {
        StoreStatus first;
        try (LoggedStore store = asking.open(directory)) {
            first = store.status();
            assertThat(first.kind()).isEqualTo("embedded");
            assertThat(first.where()).isEqualTo(directory.toString());
            assertThat(first.up()).isTrue();
            assertThat(first.why()).isEmpty();
            assertThat(first.sinceMillis()).isEqualTo(Asking.START);
            assertThat(first.epoch())
                    .contains(new StoreStatus.Epoch(store.epochBase(), Asking.START, "this server started", 0, 0));
        }
        asking.wallMillis.addAndGet(60_000);
        try (LoggedStore store = asking.open(directory)) {
            StoreStatus.Epoch next = store.status().epoch().orElseThrow();
            assertThat(next.beganAtMillis()).isEqualTo(Asking.START + 60_000);
            assertThat(next.baseToken())
                    .isGreaterThan(first.epoch().orElseThrow().baseToken());
            assertThat(next.aheadMillis()).as("the clock went on").isZero();
        }
    }

    @Test
    void tokensThatRunAheadOfTheClockAreToldInMilliseconds(@TempDir Path directory) throws Exception {
        try (LoggedStore store = asking.open(directory)) {
            for (int i = 0; i < 3 * 4096 / FencingToken.PER_GRANT; i++) {
                store.execute(new Barrier(new LockName("a")));
            }
            store.execute(new Barrier(new LockName("a"))).toCompletableFuture().get();
            assertThat(store.status().epoch().orElseThrow().aheadMillis()).isEqualTo(3);
        }
    }

    @Test
    void aClosedStoreIsDownAndSaysWhy(@TempDir Path directory) throws Exception {
        LoggedStore store = asking.open(directory);
        store.close();
        assertThat(store.status().up()).isFalse();
        assertThat(store.status().why()).isEqualTo("the lock server is stopping");
    }
}
