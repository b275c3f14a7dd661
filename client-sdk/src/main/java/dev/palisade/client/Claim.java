package dev.palisade.client;

import io.grpc.Channel;

/**
 * One resource to claim before a lock counts as granted.
 *
 * @param resource empty: it is called like the lock
 * @param guard in front of the resource
 */
record Claim(String resource, Channel guard) {}
