/** Locks kept in Redis, by one function library. The only package that knows Lettuce. */
@NullMarked
package dev.palisade.server.store.redis;

import org.jspecify.annotations.NullMarked;
