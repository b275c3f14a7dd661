/** What the tests of several modules need of a lock server and of an applied-log: signed grants, and the check of P6 and P7. */
@NullMarked
package dev.palisade.grants;

import org.jspecify.annotations.NullMarked;
