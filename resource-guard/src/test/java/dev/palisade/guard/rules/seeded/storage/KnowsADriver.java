package dev.palisade.guard.rules.seeded.storage;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: storage that drags a driver in. */
record KnowsADriver(JdbcDataSource source) {}
