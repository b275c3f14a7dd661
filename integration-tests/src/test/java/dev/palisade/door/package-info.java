/** A guard at the door as a process of its own, in front of a storage that compares nothing: what the fault runs harm. */
@NullMarked
package dev.palisade.door;

import org.jspecify.annotations.NullMarked;
