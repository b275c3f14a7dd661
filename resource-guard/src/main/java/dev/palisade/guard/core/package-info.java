/**
 * The guard's judgement, pure: marks, sequencers and accesses in, verdicts out. No clock, no I/O, no threads; everything
 * here is an immutable value and safe to share.
 */
@NullMarked
package dev.palisade.guard.core;

import org.jspecify.annotations.NullMarked;
