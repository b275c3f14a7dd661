package dev.palisade.guard.rules.seeded.mark;

import org.h2.mvstore.MVStore;

/** A seeded violation: a mark store that adds a storage engine as a dependency. */
record KnowsStorageEngine(MVStore store) {}
