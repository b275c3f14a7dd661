package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The high-water mark of one resource: the highest EXCLUSIVE grant admitted and the highest SHARED token. Judges calls by
 * the table of the protocol's section on the guard; storages that judge in SQL ask here for the reason of a refusal. It
 * never verifies a signature and never looks at who is bound to what: {@link Binding} and the verifier come before.
 *
 * @param exclusiveToken token of the highest EXCLUSIVE grant admitted; 0: none yet
 * @param exclusiveGrant that grant; null exactly when {@code exclusiveToken} is 0
 * @param sharedToken the highest SHARED token admitted; 0: none yet
 */
public record Mark(long exclusiveToken, @Nullable GrantId exclusiveGrant, long sharedToken) {
    /** The mark of a resource that nobody used yet: admits every grant. */
    public static final Mark NONE = new Mark(0, null, 0);

    /** Stands for no grant: nobody's grant id is all zeros but by a chance of 2<sup>-128</sup>. */
    private static final GrantId NOBODY = new GrantId(0, 0);

    /** @throws IllegalArgumentException when a token is out of range, or a grant comes without a token */
    public Mark {
        boolean inRange = exclusiveToken >= 0
                && sharedToken >= 0
                && exclusiveToken <= FencingToken.MAX
                && sharedToken <= FencingToken.MAX;
        if (!inRange || (exclusiveGrant == null) != (exclusiveToken == 0)) {
            throw new IllegalArgumentException(
                    "not a mark: X=(" + exclusiveToken + ", " + exclusiveGrant + "), S=" + sharedToken);
        }
    }

    /**
     * Judges one call of a verified sequencer that is bound to this mark's resource.
     *
     * @param resource the resource, for the wording of a refusal
     * @return MODE_NOT_ALLOWED or TOKEN_STALE as {@link Verdict.Refused}, otherwise the raised mark
     */
    Verdict judge(String resource, Sequencer sequencer, Access access) {
        if (!access.isOpenTo(sequencer.mode())) {
            return new Verdict.Refused(Binding.modeNotAllowed(resource, sequencer));
        }
        long token = sequencer.token().value();
        if (sequencer.mode() == Mode.SHARED) {
            return token > exclusiveToken
                    ? admitted(raisedBy(sequencer))
                    : new Verdict.Refused(stale(resource, sequencer));
        }
        boolean newer = token > exclusiveToken;
        boolean same = token == exclusiveToken && sequencer.grant().equals(exclusiveGrant);
        return token > sharedToken && (newer || same)
                ? admitted(raisedBy(sequencer))
                : new Verdict.Refused(stale(resource, sequencer));
    }

    /**
     * The refusal of one call of a verified sequencer that is bound to this mark's resource, for storages that compare in
     * their own language and ask here for the reason.
     *
     * @param resource the resource, for the wording of a refusal
     * @param exclusiveAtMillis when {@code exclusiveToken} was first admitted, milliseconds since 1970; 0: not known
     * @param sharedAtMillis the same of {@code sharedToken}
     * @return MODE_NOT_ALLOWED or TOKEN_STALE; empty: the call is admitted
     */
    public Optional<Rejection> refusal(
            String resource, Sequencer sequencer, Access access, long exclusiveAtMillis, long sharedAtMillis) {
        if (!(judge(resource, sequencer, access) instanceof Verdict.Refused refused)) {
            return Optional.empty();
        }
        long when = refusesByShared(sequencer) ? sharedAtMillis : exclusiveAtMillis;
        Rejection rejection = refused.rejection();
        return Optional.of(when == 0 ? rejection : rejection.with(Rejection.SUPERSEDED_AT_MILLIS, Long.toString(when)));
    }

    /** This mark as an admitted call of {@code sequencer} leaves it; asks not whether it is admitted. */
    public Mark raisedBy(Sequencer sequencer) {
        long token = sequencer.token().value();
        return sequencer.mode() == Mode.SHARED
                ? new Mark(exclusiveToken, exclusiveGrant, Math.max(sharedToken, token))
                : new Mark(token, sequencer.grant(), sharedToken);
    }

    /**
     * Whether a call of this sequencer is admitted and raises nothing: the question of {@link #judge} for the grant that is
     * in already, asked without making anything.
     */
    boolean admitsAsItIs(Sequencer sequencer, Access access) {
        long token = sequencer.token().value();
        if (sequencer.mode() == Mode.SHARED) {
            return access == Access.READ && token > exclusiveToken && token <= sharedToken;
        }
        return token == exclusiveToken
                && token > sharedToken
                && sequencer.grant().equals(exclusiveGrant);
    }

    /** Whether everything that {@code other} refuses as stale is refused by this mark too. */
    boolean covers(Mark other) {
        return exclusiveToken >= other.exclusiveToken && sharedToken >= other.sharedToken;
    }

    /**
     * The mark that refuses every token up to {@code token}: what a resource starts from whose own mark is not remembered.
     *
     * @param token 0 to {@link FencingToken#MAX}; 0: {@link #NONE}
     */
    static Mark base(long token) {
        return NONE.refusingAll(token);
    }

    /** This mark, raised so that it refuses every token up to {@code token}, and every grant that it has admitted. */
    Mark refusingAll(long token) {
        long raised = Math.max(token, highest());
        return raised == 0 ? NONE : new Mark(raised, NOBODY, sharedToken);
    }

    /** This mark, raised so that it refuses every token up to {@code token}. */
    Mark raisedTo(long token) {
        return token <= exclusiveToken ? this : new Mark(token, NOBODY, sharedToken);
    }

    /** Whether it is the SHARED token by which a stale call of this sequencer was superseded, not the EXCLUSIVE one. */
    boolean refusesByShared(Sequencer sequencer) {
        return sharedToken > exclusiveToken && sequencer.mode() == Mode.EXCLUSIVE;
    }

    /** The highest token that was admitted in either mode; 0: none. */
    public long highest() {
        return Math.max(exclusiveToken, sharedToken);
    }

    private Verdict admitted(Mark next) {
        return new Verdict.Admitted(next, !next.equals(this));
    }

    private Rejection stale(String resource, Sequencer sequencer) {
        boolean bySharedOne = refusesByShared(sequencer);
        long markToken = bySharedOne ? sharedToken : exclusiveToken;
        boolean byBase = !bySharedOne && NOBODY.equals(exclusiveGrant);
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put(Rejection.PRESENTED_TOKEN, sequencer.token().toString());
        metadata.put(Rejection.MARK_TOKEN, Long.toString(markToken));
        if (!bySharedOne && !byBase && exclusiveGrant != null) {
            metadata.put(Rejection.MARK_GRANT, exclusiveGrant.toString());
        }
        metadata.put(Rejection.RESOURCE, resource);
        metadata.put(Rejection.LOCK, sequencer.lock().value());
        metadata.put(Rejection.APPLIED, "no");
        String what = "token " + sequencer.token() + " of grant " + sequencer.grant() + " on '" + resource + "'";
        String why = byBase
                ? " is older than this guard's base mark " + markToken + ", from before which it remembers no grant"
                : " was superseded by token " + markToken + " of "
                        + (bySharedOne ? "a SHARED grant" : "grant " + exclusiveGrant);
        String message = what + why + "; nothing was applied: acquire again, read again, redo";
        return new Rejection(Reason.TOKEN_STALE, message, metadata);
    }
}
