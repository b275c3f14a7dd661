package dev.palisade.server.core.explain;

import dev.palisade.contract.FencingToken;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.HistoryEntry.What;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The sentences of an explanation. Each has a subject and stands by itself, so that it can be copied into a message. Texts of clients,
 * guards and operators are quoted.
 */
final class ExplanationText {
    private static final String TOKEN_STALE = "TOKEN_STALE";
    private static final String OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN";
    private static final int OTHER_TOKENS_MAX = 5;

    private final LockEvidence evidence;
    private final long token;
    private final long first;
    /** As a word of a sentence. */
    private final String owner;

    private final List<RefusalReport> refusals;

    /**
     * @param token that was asked about
     * @param first the grant's first token
     * @param owner of the grant; absent: not known
     * @param refusals of the grant
     */
    ExplanationText(
            LockEvidence evidence, long token, long first, Optional<String> owner, List<RefusalReport> refusals) {
        this.evidence = evidence;
        this.token = token;
        this.first = first;
        this.owner = owner.map(ExplanationText::client).orElse("a client that is not known");
        this.refusals = refusals;
    }

    // ---- events ----

    GrantExplanation.Event of(HistoryEntry entry) {
        return event(entry.atMillis(), entry.what().name(), entry.token(), sentence(entry));
    }

    private static String sentence(HistoryEntry entry) {
        String client = client(entry.owner());
        String detail = entry.detail().isEmpty() ? "" : ": " + Quoted.text(entry.detail());
        return switch (entry.what()) {
            case GRANTED -> client + " got the lock with token " + entry.token() + purpose(entry.detail()) + ".";
            case QUEUED -> client + " began to wait for the lock" + purpose(entry.detail()) + ".";
            case OFFERED -> "The lock was offered to " + client + " with token " + entry.token() + ".";
            case ACCEPTED -> client + " accepted the offer: it holds the lock with token " + entry.token() + ".";
            case LAPSED -> client + " did not accept the offer of token " + entry.token() + " in time.";
            case WITHDRAWN -> "The offer of token " + entry.token() + " was withdrawn: the store was recovering.";
            case RESUMED -> client + " reconnected and kept the lease.";
            case RECLAIMED -> client + " showed its sequencer, and the store restored the lease that it had lost.";
            case RELEASE_REQUESTED -> "The release of the lock was requested" + detail + ".";
            case RELEASED -> client + " released the lock.";
            case EXPIRED -> "The lease expired: no renewal by " + client + " arrived in time.";
            case ABANDONED ->
                "The lease of " + client + " was ended"
                        + entry.cause()
                                .map(cause -> ": " + cause.words())
                                .orElse("; why is not recorded: a lock server of an older version ended it")
                        + ".";
            case FORCE_RELEASED -> "An operator ended the lease (force-release)" + detail + ".";
            case LEFT -> client + " stopped waiting.";
            case TIMED_OUT -> "The wait of " + client + " was over without the lock.";
            case DROPPED -> client + " was removed from the queue: it accepted no offer, or was no longer connected.";
        };
    }

    GrantExplanation.Event granted(Grant grant) {
        String purpose = purpose(grant.request().purpose());
        return event(
                grant.grantedAtMillis(),
                What.GRANTED.name(),
                grant.token().value(),
                client(grant.request().owner()) + " got the lock with token " + grant.token() + purpose + ".");
    }

    GrantExplanation.Event renewed(Grant grant, long atMillis) {
        return event(
                atMillis,
                GrantExplanation.LAST_RENEWED,
                grant.token().value(),
                client(grant.request().owner()) + " last renewed the lease; without another renewal it ends "
                        + ElapsedTime.text(grant.request().ttlMillis()) + " later.");
    }

    /** @param endedAtMillis empty: not known */
    GrantExplanation.Event lastFrame(long atMillis, OptionalLong endedAtMillis) {
        String text = endedAtMillis.isPresent() && atMillis > endedAtMillis.getAsLong()
                ? owner + " was not silent: the lock server received a frame from it "
                        + ElapsedTime.text(atMillis - endedAtMillis.getAsLong()) + " after the lease ended."
                : "The lock server received the last frame from " + owner + " before the lease ended.";
        return event(atMillis, GrantExplanation.LAST_FRAME, first, text);
    }

    GrantExplanation.Event of(StoreOutage outage) {
        String lasted = ElapsedTime.text(outage.lastRefusedAtMillis() - outage.beganAtMillis());
        return event(
                outage.beganAtMillis(),
                GrantExplanation.STORE_OUTAGE,
                0,
                "This lock server could not use its store from here on for " + lasted
                        + (outage.isOver() ? "" : ", and still cannot") + ". It refused " + counted(outage.refused())
                        + ", and no lease could be renewed meanwhile.");
    }

    GrantExplanation.Event ended(Tombstone end) {
        String detail = EndCause.of(end.end(), end.detail())
                .map(EndCause::words)
                .orElseGet(() -> end.detail().isEmpty() ? "" : Quoted.text(end.detail()));
        return event(
                end.endedAtMillis(),
                end.end().name(),
                end.token(),
                "The grant ended" + (detail.isEmpty() ? "" : ": " + detail) + ".");
    }

    GrantExplanation.Event next(HistoryEntry entry) {
        return event(entry.atMillis(), entry.what().name(), entry.token(), "Next: " + sentence(entry));
    }

    GrantExplanation.Event began(StoreStatus.Epoch epoch) {
        return event(
                epoch.beganAtMillis(),
                GrantExplanation.EPOCH_BEGAN,
                0,
                "An epoch began: all new tokens are above " + epoch.baseToken() + ", because " + epoch.why() + ".");
    }

    List<GrantExplanation.Event> of(RefusalReport refusal) {
        List<GrantExplanation.Event> events = new ArrayList<>();
        String guard = "The guard " + Quoted.text(refusal.guard())
                + (refusal.principal().isEmpty() ? "" : " of " + Quoted.text(refusal.principal()));
        refusal.markRaisedAtMillis()
                .ifPresent(at -> events.add(new GrantExplanation.Event(
                        at,
                        GrantExplanation.MARK_RAISED,
                        refusal.markToken(),
                        guard + " first saw token " + refusal.markToken() + " on " + Quoted.text(refusal.resource())
                                + ", and raised its mark to it.",
                        Optional.of(refusal))));
        String why = refusal.markToken() == 0 ? "" : ": it had seen token " + refusal.markToken();
        String of = " with token " + refusal.presentedToken() + " on " + Quoted.text(refusal.resource());
        events.add(new GrantExplanation.Event(
                refusal.firstAtMillis(),
                GrantExplanation.REFUSED,
                refusal.presentedToken(),
                guard + said(refusal) + " a call" + of + " as " + reason(refusal) + why + ".",
                Optional.of(refusal)));
        if (refusal.count() > 1) {
            events.add(new GrantExplanation.Event(
                    refusal.lastAtMillis(),
                    GrantExplanation.REFUSED,
                    refusal.presentedToken(),
                    guard + said(refusal) + " the last of " + refusal.count() + " such calls" + of + ".",
                    Optional.of(refusal)));
        }
        return events;
    }

    /** Such a call was not kept out: it may have been applied. */
    private static String said(RefusalReport refusal) {
        return isOutcomeUnknown(refusal) ? " does not know the outcome of" : " refused";
    }

    private static boolean isOutcomeUnknown(RefusalReport refusal) {
        return refusal.reason().equals(OUTCOME_UNKNOWN);
    }

    // ---- summary ----

    String summary(TokenState state) {
        String lock = "lock " + Quoted.text(evidence.state().name().value());
        String named = "Token " + token + (token == first ? "" : " (a local hand-off of token " + first + ")");
        String said = switch (state) {
            case HELD -> named + " of " + lock + " is held by " + owner;
            case OFFERED -> named + " of " + lock + " is offered to " + owner;
            case RELEASED -> named + " of " + lock + " is over: " + owner + " released it";
            case EXPIRED -> named + " of " + lock + " is over: the lease of " + owner + " expired";
            case ABANDONED -> named + " of " + lock + " is over: the lock server ended the lease of " + owner;
            case FORCE_RELEASED -> named + " of " + lock + " is over: an operator ended the lease of " + owner;
            case NOT_TAKEN -> named + " of " + lock + " was offered to " + owner + " and never taken";
            case BEFORE_EPOCH -> named + " of " + lock + " is older than the present epoch of its tokens";
            case FORGOTTEN -> named + " of " + lock + " is older than what is remembered of it";
            case NOT_GRANTED -> named + " of " + lock + " is larger than every token that is known";
            case UNKNOWN -> "Nothing is known of token " + token + " of " + lock;
        };
        return said + holderNow(state) + refusedCalls() + ".";
    }

    private String holderNow(TokenState state) {
        if (state == TokenState.HELD) {
            return "";
        }
        List<Grant> now = evidence.state().holders();
        return switch (now.size()) {
            case 0 -> "; now no client holds the lock";
            case 1 ->
                "; now " + client(now.get(0).request().owner()) + " holds the lock with token "
                        + now.get(0).token();
            default -> "; now " + now.size() + " clients share the lock";
        };
    }

    private String refusedCalls() {
        long refused = calls(refusals.stream().filter(each -> !isOutcomeUnknown(each)));
        long unknown = calls(refusals.stream().filter(ExplanationText::isOutcomeUnknown));
        return (refused == 0 ? "" : "; guards refused " + counted(refused) + " with it")
                + (unknown == 0 ? "" : "; the outcome of " + counted(unknown) + " with it is not known");
    }

    private static String counted(long calls) {
        return calls == 1 ? "one call" : calls + " calls";
    }

    private static long calls(Stream<RefusalReport> reports) {
        return reports.mapToLong(RefusalReport::count)
                .reduce(0, (one, other) -> one + other < 0 ? Long.MAX_VALUE : one + other);
    }

    // ---- what is not known ----

    List<String> unknown(TokenState state, boolean hasHistory, boolean knowsNext, boolean knowsLastFrame) {
        List<String> unknown = new ArrayList<>();
        if (!hasHistory) {
            unknown.add(
                    "The history of the lock has no event of this token: it keeps the newest " + HistoryEntry.LISTED_MAX
                            + ", and an embedded store loses it at a restart, except forced releases.");
        }
        if (!knowsLastFrame && (state == TokenState.EXPIRED || state == TokenState.ABANDONED)) {
            unknown.add(
                    "When the client last sent a frame is not known: this lock server did not have its stream, or has"
                            + " forgotten it. A client without a stream renews by single calls.");
        }
        if (refusals.isEmpty()) {
            unknown.add("No guard reported a refused call with this token to this lock server. Guards report if they"
                    + " are connected to it, fences if they are made with reports; with a policy both need the right"
                    + " 'guard'. No guard reports SEQUENCER_INVALID, and a report can be lost.");
        }
        if (refusals.stream()
                .anyMatch(each ->
                        each.markToken() > 0 && each.markRaisedAtMillis().isEmpty())) {
            unknown.add("When the guard's mark was raised is not known: the guard did not report it.");
        }
        if (!knowsNext && state.isOver()) {
            unknown.add(
                    "Which client got the lock next is not known: the history has no unbroken record from the end of"
                            + " this grant on.");
        }
        refusals.stream()
                .map(RefusalReport::markToken)
                .filter(mark -> mark > 0 && !isKnown(mark))
                .distinct()
                .forEach(mark ->
                        unknown.add("Which client got token " + mark + " is not known. A guard that has lost its"
                                + " marks also begins with a newer token, which no client has."));
        return unknown;
    }

    private boolean isKnown(long token) {
        return token > 0 && evidence.tokens().anyMatch(known -> new FencingToken(known).isOfSameGrant(token));
    }

    // ---- what to do ----

    /** @param cause of a lease that the lock server ended */
    List<String> advice(TokenState state, boolean hasOutage, Optional<EndCause> cause) {
        List<String> advice = new ArrayList<>();
        switch (state) {
            case HELD -> {
                if (refusals.stream()
                        .anyMatch(each -> each.reason().equals(TOKEN_STALE) && !isKnown(each.markToken()))) {
                    advice.add("A guard refuses this token although its lease stands: the guard lost its marks, or"
                            + " another lock service writes to it. Release the lock and acquire it again.");
                }
                if (refusals.stream()
                        .anyMatch(each -> each.reason().equals(TOKEN_STALE)
                                && new FencingToken(first).isOfSameGrant(each.markToken()))) {
                    advice.add("Another thread of this client has the lease now: the call was late. Let each thread end"
                            + " its calls before it closes its lease; then acquire the lock again.");
                }
            }
            case OFFERED, NOT_TAKEN, NOT_GRANTED, UNKNOWN ->
                advice.add(
                        "Check that the token, the lock's name and the lock server are the ones of the refused call.");
            case RELEASED ->
                advice.add((refusals.isEmpty() ? "If a call with this token was refused, the" : "The")
                        + " client sent a call after its release, or a call of it was late: let it wait for its"
                        + " calls before it releases, then acquire the lock again for more work.");
            case EXPIRED ->
                advice.add("Close the lease, acquire the lock again, read again, and redo the work. If it expires"
                        + " often, look for pauses of the client (garbage collection, a suspended machine) or use a"
                        + " longer ttl.");
            case ABANDONED ->
                advice.add("Close the lease, acquire the lock again, read again, and redo the work. "
                        + afterEnd(cause.orElse(EndCause.CONNECTION_BROKE)));
            case FORCE_RELEASED -> advice.add("Ask the operator named above before the lock is acquired again.");
            case BEFORE_EPOCH, FORGOTTEN ->
                advice.add("Close the lease, acquire the lock again, read again, and redo the work.");
        }
        boolean broke = cause.orElse(EndCause.CONNECTION_BROKE) == EndCause.CONNECTION_BROKE;
        if (hasOutage && (state == TokenState.EXPIRED || (state == TokenState.ABANDONED && broke))) {
            advice.add(
                    "The store was away while the lease lasted, so its renewals may have failed for that reason: look"
                            + " at the store and at event=store_unavailable of the lock server's log.");
        }
        String others = refusals.stream()
                .filter(each -> !each.reason().equals(TOKEN_STALE))
                .map(ExplanationText::reason)
                .distinct()
                .collect(Collectors.joining(", "));
        if (!others.isEmpty()) {
            advice.add("The page of reasons (docs/reference/reasons.md) says what to do about " + others + ".");
        }
        if (refusals.stream().anyMatch(ExplanationText::isOutcomeUnknown)) {
            advice.add(
                    "A call of which the outcome is not known may have been applied: read again before you write again.");
        }
        advice.add(
                refusals.isEmpty()
                        ? "No refused call with this token is known. To explain another call, give its token: --token."
                        : "A refused call was not applied, unless its reply said that the outcome is unknown.");
        String tokens = evidence.refusals().stream()
                .filter(each -> !refusals.contains(each))
                .map(each -> Long.toString(each.presentedToken()))
                .distinct()
                .limit(OTHER_TOKENS_MAX)
                .collect(Collectors.joining(", "));
        if (!tokens.isEmpty()) {
            advice.add("Calls with other tokens of the lock were refused, too: " + tokens + ".");
        }
        return advice;
    }

    private static String afterEnd(EndCause cause) {
        return switch (cause) {
            case RIGHTS_CHANGED, RIGHTS_WITHDRAWN ->
                "If that is refused, the policy does not allow it: palisade policy check explains it.";
            case TOKENS_WITHDRAWN -> "That needs a new token of the user: palisade users add makes one.";
            case JWT_EXPIRED -> "See that the client gets a new JWT before the old one expires.";
            case KEY_WITHDRAWN -> "That needs a JWT that a key of today signed.";
            case CERTIFICATE_EXPIRED -> "See that the client gets a new certificate before the old one expires.";
            case AUTHORITIES_CHANGED -> "If that is refused, the client needs a certificate of an authority of today.";
            case STREAM_REFUSED -> "The lock server's log says what the client sent (event=refused).";
            case NOT_READ -> "Look for pauses of the client, or threads of it that block its stream.";
            case SERVER_STOPPED -> "Look at why no other lock server took the client within the grace.";
            case CLIENT_CLOSED, NOT_RESUMED, GIVEN_UP ->
                "The client itself gave the lease up, or a newer stream of it did not ask for it: look at its log.";
            case CONNECTION_BROKE -> "Look at the client's process and its network at the time of the break.";
        };
    }

    // ---- words ----

    private static GrantExplanation.Event event(long atMillis, String what, long token, String text) {
        return new GrantExplanation.Event(atMillis, what, token, text, Optional.empty());
    }

    private static String client(String owner) {
        return owner.isEmpty() ? "a client without a name" : Quoted.text(owner);
    }

    /** A guard may send any text. */
    private static String reason(RefusalReport refusal) {
        return refusal.reason().matches("[A-Z_]+") ? refusal.reason() : Quoted.text(refusal.reason());
    }

    private static String purpose(String purpose) {
        return purpose.isEmpty() ? "" : " (purpose " + Quoted.text(purpose) + ")";
    }
}
