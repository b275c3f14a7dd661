package dev.palisade.server.store.redis;

/** A linked primary. */
record Primary(RedisConnection connection, ServerInfo info) {}
