package dev.palisade.server.core;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SessionId;
import java.util.Optional;
import java.util.function.Function;

/** The check for the holder of a lock: grant, session and token together. Used by every command that only a holder may send. */
final class HolderCheck {
    private HolderCheck() {}

    /** Runs {@code then} for the holder, or says why the caller is not. */
    static Answer require(
            Step step, GrantId id, FencingToken token, SessionId session, String verb, Function<Grant, Answer> then) {
        Optional<Grant> held = step.state().holder(id);
        if (held.isEmpty() || !held.get().request().id().session().equals(session)) {
            return refused(step, id, session, verb);
        }
        if (!held.get().token().equals(token)) {
            return otherToken(step, id, token, verb);
        }
        return then.apply(held.get());
    }

    static Answer otherToken(Step step, GrantId id, FencingToken token, String verb) {
        return step.refuse(
                Reason.TOKEN_MISMATCH,
                "cannot " + verb + ": grant " + id + " has another token than " + token
                        + "; send the token of the grant");
    }

    static Answer refused(Step step, GrantId id, SessionId session, String verb) {
        Optional<Tombstone> ended = step.state().tombstone(id);
        if (ended.isPresent() && ended.get().request().session().equals(session)) {
            return step.refuseEnded(ended.get(), "cannot " + verb + ": ");
        }
        return step.refuse(
                Reason.NOT_HOLDER, "cannot " + verb + ": grant " + id + " does not hold this lock; acquire again");
    }
}
