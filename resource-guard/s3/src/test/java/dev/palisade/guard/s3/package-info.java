@NullMarked
package dev.palisade.guard.s3;

import org.jspecify.annotations.NullMarked;
