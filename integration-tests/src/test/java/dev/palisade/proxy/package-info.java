/** A proxy process with a guard, in front of a storage that compares no tokens. The fault runs inject faults into it. */
@NullMarked
package dev.palisade.proxy;

import org.jspecify.annotations.NullMarked;
