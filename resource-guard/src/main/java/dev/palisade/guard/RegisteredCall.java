package dev.palisade.guard;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;

/**
 * Entry of one call in a shared register: the call runs, or its end is unknown.
 *
 * @param guard the guard that admitted it, and removes it
 * @param number unique among the calls of that guard
 * @param quarantined whether its outcome is unknown
 */
record RegisteredCall(
        String guard, long number, Mode mode, long token, GrantId grant, Access access, boolean quarantined) {
    static RegisteredCall running(String guard, long number, Sequencer sequencer, Access access) {
        return new RegisteredCall(
                guard, number, sequencer.mode(), sequencer.token().value(), sequencer.grant(), access, false);
    }

    /** The same, with an unknown outcome. */
    RegisteredCall asQuarantined() {
        return new RegisteredCall(guard, number, mode, token, grant, access, true);
    }

    /** The same at a guard that has joined its register again. */
    RegisteredCall at(String newGuard) {
        return new RegisteredCall(newGuard, number, mode, token, grant, access, quarantined);
    }

    boolean isOf(String guard, long number) {
        return this.number == number && this.guard.equals(guard);
    }

    boolean isOfSameGrant(RegisteredCall other) {
        return token == other.token && grant.equals(other.grant);
    }
}
