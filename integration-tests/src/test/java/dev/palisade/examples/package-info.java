/** What the README and the guides show. Compiled here and compared with their text by {@link dev.palisade.examples.SnippetsTest}. */
@NullMarked
package dev.palisade.examples;

import org.jspecify.annotations.NullMarked;
