package dev.palisade.guard.rules.seeded.storage;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: storage that adds a driver as a dependency. */
record KnowsDriver(JdbcDataSource source) {}
