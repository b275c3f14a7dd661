/** A contract in which every rule of the architecture test is broken, to see each rule report it. Never run. */
package dev.palisade.seeded;
