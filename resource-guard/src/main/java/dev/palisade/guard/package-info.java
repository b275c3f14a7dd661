/**
 * The guard at the door: for calls whose backend cannot compare fencing tokens in its own transaction (protocol, tier 2).
 * {@link dev.palisade.guard.Guard} lets calls in one grant at a time and refuses stale ones. Where mark and data can change
 * in one transaction, {@code dev.palisade.guard.storage} needs fewer assumptions and is the better choice.
 */
@NullMarked
package dev.palisade.guard;

import org.jspecify.annotations.NullMarked;
