package dev.palisade.server.store.redis;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What a Redis says of itself in INFO, and why it may not keep locks. */
record ServerInfo(Map<String, String> fields) {
    private static final int MAJOR_MIN = 7;

    static CompletableFuture<ServerInfo> of(RedisConnection connection) {
        return connection.ask("INFO").thenApply(answer -> parse((byte[]) answer.get(0)));
    }

    private static ServerInfo parse(byte[] text) {
        Map<String, String> fields = new HashMap<>();
        new String(text, StandardCharsets.UTF_8).lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0) {
                fields.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
        });
        return new ServerInfo(fields);
    }

    /** "Redis 7.0.15", "Valkey 8.1.0". */
    String version() {
        String valkey = fields.get("valkey_version");
        return valkey != null ? "Valkey " + valkey : "Redis " + get("redis_version");
    }

    String replicationId() {
        return get("master_replid");
    }

    /** Why no lock may ever be kept here, as one line; null if none. */
    @Nullable
    String refusal(Address address, StoreUri.Kind kind) {
        String who = "Redis " + address;
        if (!get("loading").isEmpty() && !get("loading").equals("0")) {
            return who + " is loading its data; wait until it has";
        }
        if (major() < MAJOR_MIN) {
            return who + " has version " + get("redis_version")
                    + ", which has no functions; use Redis 7.0 or Valkey, or newer";
        }
        if (!get("role").equals("master")) {
            return who + " is a replica of " + get("master_host") + ":" + get("master_port")
                    + "; name the primary, or use " + "redis-sentinel://";
        }
        if (replicationId().isEmpty()) {
            return who
                    + " does not tell its master_replid in INFO replication, without which a failover would go unseen; "
                    + "use a Redis that does";
        }
        boolean clustered = get("cluster_enabled").equals("1");
        if (clustered && kind != StoreUri.Kind.CLUSTER) {
            return who + " is a node of a cluster; use redis-cluster://";
        }
        if (!clustered && kind == StoreUri.Kind.CLUSTER) {
            return who + " is no node of a cluster; use redis://";
        }
        return null;
    }

    /** What must be mended before a start, but does not stop a server that runs; null if nothing. */
    @Nullable
    String refusalAtStart(Address address) {
        String policy = get("maxmemory_policy");
        if (!policy.equals("noeviction")) {
            return "Redis " + address + " has maxmemory-policy " + (policy.isEmpty() ? "unknown" : policy)
                    + ", which removes locks when memory is short; set noeviction";
        }
        return null;
    }

    private int major() {
        String version = get("redis_version");
        String major = version.substring(0, Math.max(0, version.indexOf('.')));
        return major.matches("\\d{1,4}") ? Integer.parseInt(major) : 0;
    }

    private String get(String field) {
        return fields.getOrDefault(field, "");
    }
}
