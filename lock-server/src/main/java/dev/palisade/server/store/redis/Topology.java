package dev.palisade.server.store.redis;

import java.util.concurrent.CompletableFuture;

/** Knows who is the primary now. Belongs to the loop. */
interface Topology {
    /** Asks again. Completes in the loop, with {@link RedisUnusable} if no server replies. */
    CompletableFuture<Route> read();

    /** Whether it can change while the primary that is linked still answers. */
    boolean changes();

    /** @param slot matters in a cluster only */
    static Topology of(StoreUri uri, int slot, Connector connector) {
        return switch (uri.kind()) {
            case STANDALONE -> new OneServer(new Route(uri.addresses().get(0), true));
            case SENTINEL -> new Sentinels(uri, connector);
            case CLUSTER -> new ClusterNodes(uri, slot, connector);
        };
    }

    /** The only server. */
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
