/**
 * The check of a fencing token inside Redis or Valkey, for services whose data is there: {@link
 * dev.palisade.guard.redis.FencedRedis} compares the token, raises the mark and runs the caller's commands in one script. For
 * locks kept in Redis this package is not needed.
 */
@NullMarked
package dev.palisade.guard.redis;

import org.jspecify.annotations.NullMarked;
