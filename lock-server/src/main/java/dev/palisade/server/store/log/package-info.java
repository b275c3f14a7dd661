/** The lock machine in memory over a log: group commit, and every reply after its log was synced. */
@NullMarked
package dev.palisade.server.store.log;

import org.jspecify.annotations.NullMarked;
