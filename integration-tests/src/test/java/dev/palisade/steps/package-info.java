/** Faults at every step of a call through gateways that share a register, placed from outside by relays and the backend. */
@NullMarked
package dev.palisade.steps;

import org.jspecify.annotations.NullMarked;
