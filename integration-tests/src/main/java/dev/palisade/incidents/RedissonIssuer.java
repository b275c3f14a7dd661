package dev.palisade.incidents;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RFuture;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;
import org.redisson.config.MasterSlaveServersConfig;

/**
 * Redisson's RFencedLock as token issuer, on a primary and its replicas, with default settings:
 * {@code checkLockSyncedSlaves} is on, so each lock waits for the replicas. A failover creates a new client, as
 * Redisson's own topology monitor switches connections.
 */
final class RedissonIssuer implements TokenIssuer {
    private static final int TTL_MILLIS = 500;
    private static final Duration TIMEOUT = Duration.ofSeconds(5);

    private final Topology<?> topology;
    private final Addresses addresses;
    private volatile Open open;

    /** A primary with its client. */
    private record Open(Node node, RedissonClient client) {}

    RedissonIssuer(Topology<?> topology, Addresses addresses) {
        this.topology = topology;
        this.addresses = addresses;
        this.open = connect(topology.primary());
    }

    private Open connect(Node primary) {
        Config config = new Config();
        MasterSlaveServersConfig servers =
                config.useMasterSlaveServers().setMasterAddress("redis://" + addresses.of(primary));
        for (Node node : topology.nodes()) {
            if (node != primary && node.isAlive()) {
                servers.addSlaveAddress("redis://" + addresses.of(node));
            }
        }
        return new Open(primary, Redisson.create(config));
    }

    @Override
    public AttemptOutcome acquire(String lock, String owner) {
        Open there = open;
        try {
            Long token = await(
                    there.client().getFencedLock(lock).tryLockAndGetTokenAsync(0, TTL_MILLIS, TimeUnit.MILLISECONDS));
            return token == null ? AttemptOutcome.HELD : new AttemptOutcome.Taken(token, there.node());
        } catch (RedisException e) {
            String why = String.valueOf(e.getMessage());
            return why.startsWith("ERR ") ? new AttemptOutcome.Refused(why) : new AttemptOutcome.Unknown(e.toString());
        }
    }

    @Override
    public void release(String lock, String owner) {
        await(open.client().getFencedLock(lock).unlockAsync());
    }

    /** Limits every wait, because some calls never complete after the client lost its primary. */
    private static <T> @Nullable T await(RFuture<T> call) {
        try {
            return call.toCompletableFuture().get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw new RedisException(
                    String.valueOf(e.getCause() == null ? e : e.getCause().getMessage()), e);
        } catch (TimeoutException e) {
            throw new RedisException("no reply within " + TIMEOUT.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RedisException("interrupted", e);
        }
    }

    @Override
    public synchronized void follow(Node primary) {
        Open former = open;
        if (primary != former.node()) {
            open = connect(primary);
            former.client().shutdown(0, 2, TimeUnit.SECONDS);
        }
    }

    @Override
    public String counter(String lock) {
        return lock;
    }

    @Override
    public void close() {
        open.client().shutdown(0, 2, TimeUnit.SECONDS);
    }
}
