/** {@code palisade run}: a command that runs only while a lock is held. */
@NullMarked
package dev.palisade.cli.run;

import org.jspecify.annotations.NullMarked;
