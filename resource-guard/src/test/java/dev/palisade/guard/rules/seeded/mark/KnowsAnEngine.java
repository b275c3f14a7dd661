package dev.palisade.guard.rules.seeded.mark;

import org.h2.mvstore.MVStore;

/** A seeded violation: a mark store that drags a storage engine in. */
record KnowsAnEngine(MVStore store) {}
