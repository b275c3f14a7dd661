/** The port behind which locks are kept: commands in, decisions out. What is answered is durable. */
@NullMarked
package dev.palisade.server.store;

import org.jspecify.annotations.NullMarked;
