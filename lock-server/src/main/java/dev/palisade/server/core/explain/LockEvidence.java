package dev.palisade.server.core.explain;

import dev.palisade.contract.GrantId;
import dev.palisade.server.core.HistoryEntry;
import dev.palisade.server.core.LockState;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.core.Tombstone;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * The evidence about one lock at one time: all that an explanation is made of.
 *
 * @param history oldest first
 * @param epoch that of the lock's tokens, if it is known
 * @param refusals that guards reported, in any order
 * @param lastFrame when the last frame of a client arrived before this server knew that its lease had ended; empty: not known
 * @param outages of the store, as far as this server remembers, oldest first
 */
public record LockEvidence(
        LockState state,
        long nowMillis,
        List<HistoryEntry> history,
        Optional<StoreStatus.Epoch> epoch,
        List<RefusalReport> refusals,
        Function<GrantId, Optional<Long>> lastFrame,
        List<StoreOutage> outages) {
    public LockEvidence {
        history = List.copyOf(history);
        refusals = List.copyOf(refusals);
        outages = List.copyOf(outages);
    }

    /** The first tokens of all grants and offers that are known, in no order; some more than once. */
    LongStream tokens() {
        return Stream.of(
                        state.holders().stream().map(grant -> grant.token().value()),
                        state.offers().stream().map(offer -> offer.token().value()),
                        state.tombstones().stream().map(Tombstone::token),
                        history.stream().map(HistoryEntry::token))
                .flatMap(each -> each)
                .mapToLong(Long::longValue)
                .filter(token -> token > 0);
    }
}
