/** Several processes of one guarded service: what registration and the ownership of marks do about them. */
@NullMarked
package dev.palisade.replicas;

import org.jspecify.annotations.NullMarked;
