@NullMarked
package dev.palisade.chaos.abuse;

import org.jspecify.annotations.NullMarked;
