package dev.palisade.guard.rules.seeded.core;

import java.sql.Connection;

/** A seeded violation: pure code that knows a database. */
record KnowsJdbc(Connection connection) {}
