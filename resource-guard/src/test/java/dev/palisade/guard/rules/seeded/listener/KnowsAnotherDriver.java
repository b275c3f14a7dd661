package dev.palisade.guard.rules.seeded.listener;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: a listener that drags a second driver in. */
record KnowsAnotherDriver(JdbcDataSource source) {}
