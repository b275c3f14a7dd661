/**
 * {@code palisade chaos abuse}: floods of a hostile or broken client, one after another, against a lock server on loopback. Each is
 * bounded in time and count. A probe measures the latency of another client meanwhile; the verdict is made of that and of what is
 * left afterwards: sessions, open files, the process itself.
 */
@NullMarked
package dev.palisade.chaos.abuse;

import org.jspecify.annotations.NullMarked;
