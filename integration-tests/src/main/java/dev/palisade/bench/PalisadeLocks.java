package dev.palisade.bench;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.client.ReleaseOutcome;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** The SDK with its defaults, but for where callbacks run: on the client's own loop, since those of the benchmark are short. */
final class PalisadeLocks implements Locks {
    private static final AcquireOptions WAITING = AcquireOptions.waiting(Duration.ofMinutes(1));

    private final PalisadeClient client;

    PalisadeLocks(String address) {
        client = PalisadeClient.builder()
                .servers(address)
                .owner("bench")
                .callTimeout(Duration.ofSeconds(30))
                .callbackExecutor(Runnable::run)
                .build();
    }

    @Override
    public Hold acquire(String name) throws InterruptedException {
        return new Held(client.acquire(name, WAITING.waitTime()));
    }

    @Override
    public CompletionStage<Hold> acquireAsync(String name) {
        return client.acquireAsync(name, WAITING).thenApply(result -> {
            if (result instanceof AcquireResult.Granted granted) {
                return new Held(granted.lease());
            }
            throw new ScenarioFailed(name + " was not granted: " + result);
        });
    }

    @Override
    public void close() {
        client.close();
    }

    private record Held(Lease lease) implements Hold {
        @Override
        public void release() {
            require(lease.release());
        }

        @Override
        public CompletionStage<?> releaseAsync() {
            return lease.releaseAsync().thenAccept(this::require);
        }

        private void require(ReleaseOutcome outcome) {
            if (outcome != ReleaseOutcome.RELEASED) {
                throw new ScenarioFailed("the release of " + lease.lock() + " came to " + outcome);
            }
        }
    }
}
