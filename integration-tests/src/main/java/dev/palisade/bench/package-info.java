/**
 * {@code palisade bench}: what the parts cost, beside what would be used in their place, in the same run. Rounds of all
 * contestants take turns, so that a noisy machine is noisy for all; what is reported are medians. Never part of a test's
 * verdict.
 */
@NullMarked
package dev.palisade.bench;

import org.jspecify.annotations.NullMarked;
