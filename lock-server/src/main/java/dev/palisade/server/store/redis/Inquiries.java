package dev.palisade.server.store.redis;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Connections on which the topology is asked for, one for each address, kept open between questions. Belongs to the loop. */
final class Inquiries {
    private final Function<Address, CompletableFuture<Wire>> dial;
    private final Map<Address, Wire> open = new HashMap<>();

    Inquiries(Function<Address, CompletableFuture<Wire>> dial) {
        this.dial = dial;
    }

    /** Fails with {@link Refusal}. */
    CompletableFuture<List<Object>> ask(Address address, String... words) {
        Wire kept = open.get(address);
        if (kept != null && kept.isOpen()) {
            return kept.ask(words);
        }
        return dial.apply(address).thenCompose(wire -> {
            Wire other = open.put(address, wire);
            if (other != null) {
                other.retire();
            }
            return wire.ask(words);
        });
    }
}
