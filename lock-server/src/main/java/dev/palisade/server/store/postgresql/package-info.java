/** The log that several lock servers share in PostgreSQL. */
@NullMarked
package dev.palisade.server.store.postgresql;

import org.jspecify.annotations.NullMarked;
