package dev.palisade.server.store.redis;

import java.util.concurrent.CompletableFuture;

/** Knows who are the primaries now. Belongs to the loop. */
interface Topology {
    /** Asks again. Completes in the loop, with {@link RedisUnusable} if no server replies. */
    CompletableFuture<Route> read();

    /** Whether it can change while the primary that is linked still answers. */
    boolean changes();

    static Topology of(StoreUri uri, Connector connector) {
        return switch (uri.kind()) {
            case STANDALONE -> new OneServer(Route.to(uri.addresses().get(0)));
            case SENTINEL -> new Sentinels(uri, connector);
            case CLUSTER -> new ClusterNodes(uri, connector);
        };
    }

    /** A server that is the primary; none if there is no primary. */
    record OneServer(Route route) implements Topology {
        @Override
        public CompletableFuture<Route> read() {
            return CompletableFuture.completedFuture(route);
        }

        @Override
        public boolean changes() {
            return false;
        }
    }
}
