/** Real processes to run scenarios with: start them, talk to them line by line, stop, continue and kill them. */
@NullMarked
package dev.palisade.scenario;

import org.jspecify.annotations.NullMarked;
