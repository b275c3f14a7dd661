/**
 * The Java client of Palisade: {@link dev.palisade.client.PalisadeClient} acquires locks,
 * {@link dev.palisade.client.Lease} is a lock that is held. A lease is kept alive until it is released or lost; its
 * sequencer travels with the calls it protects, and the guard before the resource decides about them. Nothing here is
 * a fence by itself.
 */
@NullMarked
package dev.palisade.client;

import org.jspecify.annotations.NullMarked;
