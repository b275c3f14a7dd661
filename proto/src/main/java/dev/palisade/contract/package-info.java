/**
 * The words every part of Palisade spells alike: names, tokens, sequencers and reasons. JDK only; everything here is an
 * immutable value and safe to share between threads.
 */
@NullMarked
package dev.palisade.contract;

import org.jspecify.annotations.NullMarked;
