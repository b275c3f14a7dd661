package dev.palisade.server.store.redis;

/** A linked primary. */
record Primary(Wire wire, ServerInfo info) {}
