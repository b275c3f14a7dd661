package dev.palisade.server.store.log;

/**
 * The key with which the owner of a shared log signs sequencers.
 *
 * @param address where clients reach the owner
 * @param keyId empty if it is not known: a server of an earlier release owned the log
 * @param active whether the owner's claim had not ended when this was read
 */
public record OwnerKey(String address, String keyId, boolean active) {}
