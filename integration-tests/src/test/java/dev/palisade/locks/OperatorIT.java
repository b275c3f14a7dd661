package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.Lease;
import dev.palisade.client.Operations;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LostReason;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** An operator before a stuck lock: looks, asks, then ends the lease, and finds it on record after a kill (A13, A14). */
@Execution(ExecutionMode.CONCURRENT)
class OperatorIT {
    private static final String LOCK = "job/1";

    private final House house = new House();

    @AfterEach
    void close() {
        house.close();
    }

    @Test
    void aStuckLockIsFoundAskedForAndFreedAndThatStaysOnRecord() throws InterruptedException {
        List<String> heard = new CopyOnWriteArrayList<>();
        Operations.Barrier barrier;
        long token;
        try (PalisadeClient holder = PalisadeClient.builder()
                        .servers(house.serverAddress())
                        .owner("holder")
                        .build();
                PalisadeClient operator = PalisadeClient.connect(house.serverAddress())) {
            Operations operations = operator.operations();
            Lease lease = holder.acquire(LOCK);
            token = lease.token().value();
            lease.onReleaseRequested(asked -> heard.add("asked by " + asked.by() + ": " + asked.why()));
            lease.onLost(reason -> heard.add(reason + " " + lease.lostDetail()));

            assertThat(operations.list("job/"))
                    .singleElement()
                    .satisfies(lock -> assertThat(lock.holders().get(0).owner()).isEqualTo("holder"));
            assertThat(operations.list("other/")).isEmpty();
            assertThat(operations.requestRelease(LOCK, "ops", "please")).isEqualTo(1);
            Awaitility.await()
                    .atMost(House.PATIENCE)
                    .untilAsserted(() -> assertThat(heard).containsExactly("asked by ops: please"));
            assertThat(operations.isAlive(lease.sequencer())).isTrue();

            assertThat(operations.forceRelease(LOCK, OptionalLong.of(token), "ops", "stuck"))
                    .isEqualTo(1);
            Awaitility.await()
                    .atMost(House.PATIENCE)
                    .untilAsserted(() -> assertThat(heard)
                            .containsExactly("asked by ops: please", LostReason.FORCE_RELEASED + " by ops: stuck"));
            assertThat(operations.isAlive(lease.sequencer())).isFalse();
            assertThat(operations.list("")).isEmpty();
            barrier = operations.barrier(LOCK);
            assertThat(barrier.token()).isGreaterThan(lease.token());
        }
        house.killServer();
        house.restartServer();
        try (PalisadeClient operator = PalisadeClient.connect(house.serverAddress())) {
            assertThat(operator.operations().history(LOCK)).singleElement().satisfies(entry -> {
                assertThat(entry.what()).isEqualTo("FORCE_RELEASED");
                assertThat(entry.token().orElseThrow().value()).isEqualTo(token);
                assertThat(entry.owner()).isEqualTo("holder");
                assertThat(entry.detail()).isEqualTo("by ops: stuck");
            });
            assertThat(operator.acquire(LOCK).token()).isGreaterThan(barrier.token());
        }
    }
}
