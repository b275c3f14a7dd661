package dev.palisade.guard.rules.seeded.dialect;

import org.h2.jdbcx.JdbcDataSource;

/** A seeded violation: a dialect that drags a driver in. */
record OpensADatabase(JdbcDataSource source) {}
