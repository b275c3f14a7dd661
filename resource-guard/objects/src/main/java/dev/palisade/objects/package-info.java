/**
 * {@code palisade objects}: protected object storage over SQL. Every write, the mark that admits it and its line in the
 * applied-log are one transaction. A process of its own, and no library.
 */
@NullMarked
package dev.palisade.objects;

import org.jspecify.annotations.NullMarked;
