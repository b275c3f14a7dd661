/** Durable files of the lock server and the guard. Not for users' code: it may change in any release. */
@NullMarked
package dev.palisade.contract.files;

import org.jspecify.annotations.NullMarked;
