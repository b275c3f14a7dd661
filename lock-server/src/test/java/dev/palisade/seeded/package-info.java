/** A server in which every rule of {@code dev.palisade.server.Rules} is broken, to see each rule report it. Never run. */
package dev.palisade.seeded;
