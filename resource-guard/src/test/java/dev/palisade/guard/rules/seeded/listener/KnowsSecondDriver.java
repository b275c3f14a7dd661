package dev.palisade.guard.rules.seeded.listener;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: a listener that adds a second driver as a dependency. */
record KnowsSecondDriver(JdbcDataSource source) {}
