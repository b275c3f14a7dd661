/** The lock server's process: configuration, wiring and the command line. The only place that reads clocks or draws random bytes. */
@NullMarked
package dev.palisade.server;

import org.jspecify.annotations.NullMarked;
