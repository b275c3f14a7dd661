package dev.palisade.guard.rules.seeded.dialect;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: a dialect that adds a driver as a dependency. */
record KnowsH2(JdbcDataSource source) {}
