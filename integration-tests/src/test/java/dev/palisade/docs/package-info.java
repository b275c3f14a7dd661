/** The docs say what the code does: the same commands, settings, reasons and files. */
@NullMarked
package dev.palisade.docs;

import org.jspecify.annotations.NullMarked;
