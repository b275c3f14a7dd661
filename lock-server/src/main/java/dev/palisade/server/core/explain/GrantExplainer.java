package dev.palisade.server.core.explain;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryEntry.What;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.Offer;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The explainer of one grant of a lock: finds what the evidence says of a token, and tells it in order. Pure. It claims nothing that
 * the evidence does not show; what is missing becomes a sentence of its own.
 */
public final class GrantExplainer {
    private final LockEvidence evidence;
    /** The grant's first token if the grant is known, else the token that was asked about. */
    private final long first;

    private final long asked;
    private final Optional<Grant> held;
    private final Optional<Offer> offered;
    private final Optional<Long> lastFrameAtMillis;
    private final List<HistoryEntry> history;
    private final List<RefusalReport> refusals;
    private final NextGrant next;

    private GrantExplainer(LockEvidence evidence, long asked) {
        this.evidence = evidence;
        this.asked = asked;
        this.first = evidence.tokens()
                .filter(token -> new FencingToken(token).isOfSameGrant(asked))
                .max()
                .orElse(asked);
        this.held = evidence.state().holders().stream()
                .filter(grant -> grant.token().value() == first)
                .findFirst();
        this.offered = evidence.state().offers().stream()
                .filter(offer -> offer.token().value() == first)
                .findFirst();
        Optional<GrantId> grant = held.map(Grant::id)
                .or(() -> offered.map(offer -> offer.request().grant()))
                .or(() -> evidence.history().stream()
                        .filter(entry -> entry.token() == first)
                        .map(HistoryEntry::grant)
                        .findFirst());
        this.lastFrameAtMillis = held.isPresent() ? Optional.empty() : grant.flatMap(evidence.lastFrame());
        this.history = evidence.history().stream()
                .filter(entry -> grant.filter(entry.grant()::equals).isPresent())
                // A request whose offer lapsed gets another token with the next one: that is another story.
                .filter(entry -> entry.token() == 0 || entry.token() == first)
                .toList();
        this.refusals = evidence.refusals().stream()
                .filter(refusal -> isOfGrant(refusal.presentedToken()))
                .sorted(Comparator.comparingLong(RefusalReport::firstAtMillis))
                .toList();
        this.next = NextGrant.after(first, evidence.history());
    }

    /**
     * Explains a token of a lock.
     *
     * @param token of the grant, or of any of its turns; 0: the token that was refused last, else that of the newest grant
     */
    public static GrantExplanation explain(LockEvidence evidence, long token) {
        long about = token != 0 ? token : latest(evidence);
        if (about == 0) {
            return new GrantExplanation(
                    evidence.state().name(),
                    0,
                    evidence.nowMillis(),
                    TokenState.UNKNOWN,
                    "No grant of lock " + Quoted.text(evidence.state().name().value()) + " is known.",
                    List.of(),
                    List.of("The history is empty: the lock was never used, or the lock server has forgotten it."),
                    List.of());
        }
        return new GrantExplainer(evidence, about).explanation();
    }

    private static long latest(LockEvidence evidence) {
        return evidence.refusals().stream()
                .max(Comparator.comparingLong(RefusalReport::lastAtMillis))
                .map(RefusalReport::presentedToken)
                .orElseGet(() -> evidence.tokens().max().orElse(0));
    }

    private GrantExplanation explanation() {
        TokenState state = tokenState();
        ExplanationText text = new ExplanationText(evidence, asked, first, owner(), refusals);
        List<GrantExplanation.Event> events = new ArrayList<>();
        history.forEach(entry -> events.add(text.of(entry)));
        held.filter(grant -> renewedAtMillis(grant) > grant.grantedAtMillis())
                .ifPresent(grant -> events.add(text.renewed(grant, renewedAtMillis(grant))));
        lastFrameAtMillis.ifPresent(at -> events.add(text.lastFrame(at, endedAtMillis())));
        List<StoreOutage> outages = outages(state);
        outages.forEach(outage -> events.add(text.of(outage)));
        if (held.isPresent() && history.stream().noneMatch(entry -> NextGrant.LEASE_BEGINS.contains(entry.what()))) {
            events.add(text.granted(held.get()));
        }
        ended().filter(end -> history.stream().noneMatch(entry -> entry.what() == What.of(end.end())))
                .ifPresent(end -> events.add(text.ended(end)));
        next.begin().ifPresent(entry -> events.add(text.next(entry)));
        nextHolder().filter(grant -> next.begin().isEmpty()).ifPresent(grant -> events.add(text.granted(grant)));
        epochAfter().ifPresent(epoch -> events.add(text.began(epoch)));
        refusals.forEach(refusal -> events.addAll(text.of(refusal)));
        events.sort(Comparator.comparingLong(GrantExplanation.Event::atMillis));
        boolean knowsNext =
                next.isKnown() && (next.begin().isPresent() || nextHolder().isEmpty());
        List<String> unknown = text.unknown(state, !history.isEmpty(), knowsNext, lastFrameAtMillis.isPresent());
        int leftOut = events.size() - GrantExplanation.EVENTS_MAX;
        if (leftOut > 0) {
            unknown.add((leftOut == 1 ? "One earlier event was" : leftOut + " earlier events were")
                    + " left out: an explanation has the newest " + GrantExplanation.EVENTS_MAX + ".");
        }
        return new GrantExplanation(
                evidence.state().name(),
                asked,
                evidence.nowMillis(),
                state,
                text.summary(state),
                events,
                unknown,
                text.advice(state, !outages.isEmpty(), cause()));
    }

    /** Those in which the lease could not be renewed, or might have been. */
    private List<StoreOutage> outages(TokenState state) {
        OptionalLong until = held.isPresent() ? OptionalLong.of(evidence.nowMillis()) : endedAtMillis();
        if (state == TokenState.NOT_TAKEN || until.isEmpty()) {
            return List.of();
        }
        long since = history.stream()
                .filter(entry -> NextGrant.LEASE_BEGINS.contains(entry.what()))
                .mapToLong(HistoryEntry::atMillis)
                .findFirst()
                .orElse(until.getAsLong() - Limits.DEFAULTS.ttlMaxMillis());
        return evidence.outages().stream()
                .filter(outage -> outage.overlaps(since, until.getAsLong()))
                .toList();
    }

    private OptionalLong endedAtMillis() {
        return lastEnd()
                .map(HistoryEntry::atMillis)
                .or(() -> ended().map(Tombstone::endedAtMillis))
                .map(OptionalLong::of)
                .orElse(OptionalLong.empty());
    }

    /** The newest end of the lease or offer in the history. */
    private Optional<HistoryEntry> lastEnd() {
        return history.stream()
                .filter(entry -> entry.token() == first && state(entry.what()).isPresent())
                .reduce((older, newer) -> newer);
    }

    private TokenState tokenState() {
        if (held.isPresent()) {
            return TokenState.HELD;
        }
        if (offered.isPresent()) {
            return TokenState.OFFERED;
        }
        Optional<What> end = lastEnd()
                .map(HistoryEntry::what)
                .or(() -> ended().map(Tombstone::end).map(What::of));
        if (end.isPresent()) {
            return end.flatMap(GrantExplainer::state).orElseThrow();
        }
        long newest = evidence.tokens().max().orElse(0);
        if (epochAfter().isPresent()) {
            return TokenState.BEFORE_EPOCH;
        } else if (newest == 0) {
            return TokenState.UNKNOWN;
        }
        return first > newest ? TokenState.NOT_GRANTED : TokenState.FORGOTTEN;
    }

    private static Optional<TokenState> state(What what) {
        return switch (what) {
            case RELEASED -> Optional.of(TokenState.RELEASED);
            case EXPIRED -> Optional.of(TokenState.EXPIRED);
            case ABANDONED -> Optional.of(TokenState.ABANDONED);
            case FORCE_RELEASED -> Optional.of(TokenState.FORCE_RELEASED);
            default -> NextGrant.OFFER_ENDS.contains(what) ? Optional.of(TokenState.NOT_TAKEN) : Optional.empty();
        };
    }

    /** Of a lease that the lock server ended, if it is recorded. */
    private Optional<EndCause> cause() {
        return history.stream()
                .filter(entry -> entry.token() == first)
                .flatMap(entry -> entry.cause().stream())
                .findFirst()
                .or(() -> ended().flatMap(end -> EndCause.of(end.end(), end.detail())));
    }

    private Optional<Tombstone> ended() {
        return evidence.state().tombstones().stream()
                .filter(end -> end.token() == first)
                .findFirst();
    }

    private Optional<Grant> nextHolder() {
        return evidence.state().holders().stream()
                .filter(grant -> grant.token().value() > first
                        && !isOfGrant(grant.token().value()))
                .min(Comparator.comparing(Grant::token));
    }

    private Optional<StoreStatus.Epoch> epochAfter() {
        return evidence.epoch().filter(epoch -> asked <= epoch.baseToken());
    }

    private boolean isOfGrant(long token) {
        return token > 0 && new FencingToken(first).isOfSameGrant(token);
    }

    /** Empty: not known, which is not the same as a client without a name. */
    private Optional<String> owner() {
        return held.map(grant -> grant.request().owner())
                .or(() -> offered.map(offer -> offer.request().owner()))
                .or(() -> history.stream().map(HistoryEntry::owner).findFirst());
    }

    private static long renewedAtMillis(Grant grant) {
        return grant.expiresAtMillis() - grant.request().ttlMillis();
    }
}
