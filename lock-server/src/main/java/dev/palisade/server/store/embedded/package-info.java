/** Locks on this machine's disk: one writer, group commit, everything synced before it is answered. */
@NullMarked
package dev.palisade.server.store.embedded;

import org.jspecify.annotations.NullMarked;
