/** What the commands share: one config format, one way to report misuse. Needs picocli, which only the commands have. */
@NullMarked
package dev.palisade.contract.cli;

import org.jspecify.annotations.NullMarked;
