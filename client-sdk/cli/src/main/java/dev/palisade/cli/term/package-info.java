/** What the verbs share: where the server is, how answers are printed, what an exit code means. */
@NullMarked
package dev.palisade.cli.term;

import org.jspecify.annotations.NullMarked;
