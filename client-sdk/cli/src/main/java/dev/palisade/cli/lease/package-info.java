/** Leases of shell scripts: acquire, renew, release, by unary calls and a credential that the script keeps. */
@NullMarked
package dev.palisade.cli.lease;

import org.jspecify.annotations.NullMarked;
