/**
 * The check inside the write: mark and data change in one transaction of the storage that holds the data (protocol, tier
 * 1). Needs the JDK and the contract only; drivers and pools are the user's.
 */
@NullMarked
package dev.palisade.guard.storage;

import org.jspecify.annotations.NullMarked;
