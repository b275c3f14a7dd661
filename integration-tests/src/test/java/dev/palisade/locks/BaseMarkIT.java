package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.scenario.Installation;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A guard whose marks are new, or were lost, and a real lock server to ask. */
@Execution(ExecutionMode.CONCURRENT)
class BaseMarkIT {
    private static final Binding ORDER = Binding.of("orders/42");

    private final Installation installation = Installation.fresh();
    private final Installation.Service locks = installation.server();
    private final PalisadeClient client = PalisadeClient.connect(locks.address());
    private final ManagedChannel toLocks =
            ManagedChannelBuilder.forTarget(locks.address()).usePlaintext().build();

    @AfterEach
    void stop() {
        client.close();
        toLocks.shutdownNow();
        locks.child().kill();
        installation.close();
    }

    @Test
    void whoHeldTheLockBeforeIsRefusedAndWhoAcquiresAnewIsLetIn() throws Exception {
        try (Guard guard = open("marks")) {
            Lease before = client.acquire("orders/42");
            assertStale(guard, before);
            assertStale(guard, before);
            before.close();
            try (Lease after = client.acquire("orders/42")) {
                guard.enter(after.sequencer(), Access.WRITE, ORDER).close();
            }
        }
    }

    @Test
    void marksThatWereLostAdmitNobodyFromBeforeTheLoss() throws Exception {
        Lease former = client.acquire("orders/42");
        try (Guard guard = open("lost")) {
            assertStale(guard, former);
        }
        former.close();
        try (Lease next = client.acquire("orders/42");
                Guard guard = open("found empty")) {
            assertStale(guard, former);
            assertStale(guard, next);
        }
        try (Lease last = client.acquire("orders/42");
                Guard guard = open("lost");
                Admission admitted = guard.enter(last.sequencer(), Access.WRITE, ORDER)) {
            assertThat(admitted.sequencer()).isPresent();
            assertStale(guard, former);
        }
    }

    private Guard open(String directory) throws Exception {
        Path keyset = installation.home().resolve("keys/sequencers.json");
        return Guard.builder(
                        KeysetFile.open(keyset).verifier("palisade"),
                        MarkStore.file(installation.home().resolve(directory)))
                .lockService(GrpcLockService.at(toLocks, "palisade"))
                .unknownOutcomeTimeout(Duration.ofMillis(500))
                .build();
    }

    private static void assertStale(Guard guard, Lease lease) {
        assertThatThrownBy(() -> guard.enter(lease.sequencer(), Access.WRITE, ORDER))
                .isInstanceOfSatisfying(RejectedException.class, e -> {
                    assertThat(e.reason()).isEqualTo(Reason.TOKEN_STALE);
                    assertThat(e.getMessage()).containsAnyOf("base mark", "superseded");
                });
    }
}
