package dev.palisade.client;

import io.grpc.Channel;

/**
 * A resource to claim before a lock counts as granted.
 *
 * @param resource empty: the name of the lock
 * @param guard in front of the resource
 */
record Claim(String resource, Channel guard) {}
