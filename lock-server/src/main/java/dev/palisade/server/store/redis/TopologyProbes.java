package dev.palisade.server.store.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Connections for queries of the topology, one for each address, kept open between queries. In the {@link Loop} only. */
final class TopologyProbes {
    private final Function<Address, CompletableFuture<RedisConnection>> connect;
    private final Map<Address, RedisConnection> open = new HashMap<>();

    TopologyProbes(Function<Address, CompletableFuture<RedisConnection>> connect) {
        this.connect = connect;
    }

    /** Fails with {@link RedisUnusable}. */
    CompletableFuture<List<Object>> ask(Address address, String... words) {
        RedisConnection kept = open.get(address);
        if (kept != null && kept.isOpen()) {
            return kept.ask(words);
        }
        return connect.apply(address).thenCompose(connection -> {
            RedisConnection other = open.put(address, connection);
            if (other != null) {
                other.retire();
            }
            return connection.ask(words);
        });
    }
}
