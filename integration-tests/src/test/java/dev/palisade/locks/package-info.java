/** What becomes of leases and queues when processes are killed, stopped or restarted. */
@NullMarked
package dev.palisade.locks;

import org.jspecify.annotations.NullMarked;
