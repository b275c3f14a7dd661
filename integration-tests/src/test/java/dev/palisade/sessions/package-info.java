/** Sessions and leases with real processes when networks, processes and clocks fail. */
@NullMarked
package dev.palisade.sessions;

import org.jspecify.annotations.NullMarked;
