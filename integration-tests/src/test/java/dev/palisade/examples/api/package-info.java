/** The samples of the page of the Java client's API. */
@NullMarked
package dev.palisade.examples.api;

import org.jspecify.annotations.NullMarked;
