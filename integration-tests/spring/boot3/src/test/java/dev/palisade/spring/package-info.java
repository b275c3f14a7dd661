/** The guard inside Spring's transactions: the examples of the Spring guide, and tests of them. */
@NullMarked
package dev.palisade.spring;

import org.jspecify.annotations.NullMarked;
