package dev.palisade.server.store.redis;

import java.util.concurrent.CompletableFuture;

/** Source of the address of the present primary. In the {@link Loop} only. */
interface Topology {
    /** Asks again. Completes in the loop, with {@link RedisUnusable} if no server replies. */
    CompletableFuture<Address> read();

    /**
     * Asks anew whether {@code primary} is it, by the word of more than a minority of those that know: only then may a new epoch begin
     * there. A minority may be cut off together with a deposed primary. Completes in the loop, in bounded time; false as well if too few
     * answer.
     */
    CompletableFuture<Boolean> confirms(Address primary);

    /** Whether it can change while the primary that is linked still answers. */
    boolean changes();

    /** @param slot matters in a cluster only */
    static Topology of(StoreUri uri, int slot, Connector connector) {
        return switch (uri.kind()) {
            case STANDALONE -> new OneServer(uri.addresses().get(0));
            case SENTINEL -> new Sentinels(uri, connector);
            case CLUSTER -> new ClusterNodes(uri, slot, connector);
        };
    }

    /** The only server. */
    record OneServer(Address server) implements Topology {
        @Override
        public CompletableFuture<Address> read() {
            return CompletableFuture.completedFuture(server);
        }

        @Override
        public CompletableFuture<Boolean> confirms(Address primary) {
            return CompletableFuture.completedFuture(server.equals(primary));
        }

        @Override
        public boolean changes() {
            return false;
        }
    }
}
