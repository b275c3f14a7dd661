package dev.palisade.server.store.redis;

/**
 * Who is the primary.
 *
 * @param confirmed whether more than a minority of those that know said so: only then may a new epoch begin there. A minority may be cut
 *     off together with a deposed primary.
 */
record Route(Address primary, boolean confirmed) {}
