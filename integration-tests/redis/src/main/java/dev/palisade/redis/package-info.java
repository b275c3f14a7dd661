/**
 * Redis for tests: one for whoever just needs one ({@link dev.palisade.redis.TestRedis}), and processes for whoever wants to
 * kill, stop or misconfigure them ({@link dev.palisade.redis.RedisProcess}). Always a real one; nothing here imitates Redis.
 */
@NullMarked
package dev.palisade.redis;

import org.jspecify.annotations.NullMarked;
