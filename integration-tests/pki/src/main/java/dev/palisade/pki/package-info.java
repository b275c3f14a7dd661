/** Certificates for tests: authorities, and what they issue. */
@NullMarked
package dev.palisade.pki;

import org.jspecify.annotations.NullMarked;
