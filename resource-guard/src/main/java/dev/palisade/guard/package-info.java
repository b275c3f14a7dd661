/**
 * The check of a fencing token beside the data that it protects, in two forms. {@link dev.palisade.guard.FencedJdbc} changes
 * mark and data in one transaction of the storage (protocol, tier 1); it needs the JDK and the contract only. {@link
 * dev.palisade.guard.Guard} stands in front of a backend that cannot compare tokens (tier 2): it lets calls in one grant at a
 * time, refuses stale ones, and keeps its marks in a {@link dev.palisade.guard.MarkStore}. The first form needs fewer
 * assumptions and is the better choice. One package, so that all that only the two need is package-private.
 */
@NullMarked
package dev.palisade.guard;

import org.jspecify.annotations.NullMarked;
