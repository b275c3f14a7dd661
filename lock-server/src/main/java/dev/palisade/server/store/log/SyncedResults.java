package dev.palisade.server.store.log;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Predicate;

/**
 * What a batch came to, told only when the batch is stored.
 *
 * @param dueMillis when callers without a reply get OUTCOME_UNKNOWN
 * @param epochBase of the epoch of tokens in which the batch was decided
 */
record SyncedResults(List<Reply<?>> replies, List<CommandBatch.Change> changes, long dueMillis, long epochBase) {
    /** An answer, and the future of its caller. */
    record Reply<T>(CompletableFuture<T> future, T answer) {
        void complete() {
            future.complete(answer);
        }

        void outcomeUnknown(String why) {
            future.completeExceptionally(StoreFailure.outcomeUnknown(why));
        }
    }

    /** Ends the wait of the callers; the batch may still be stored, and its changes be told. */
    void outcomeUnknown(String why) {
        replies.forEach(reply -> reply.outcomeUnknown(why));
    }

    /** Without replies. */
    SyncedResults changesOnly() {
        return new SyncedResults(List.of(), changes, Long.MAX_VALUE, epochBase);
    }

    /** Calls {@code issued} for each grant and each offer of the batch. */
    void eachIssued(BiConsumer<LockName, Grant> issued) {
        for (CommandBatch.Change change : changes) {
            LockName lock = change.state().name();
            for (LockEvent event : change.events()) {
                if (event instanceof LockEvent.Granted granted) {
                    issued.accept(lock, granted.grant());
                } else if (event instanceof LockEvent.Offered offered) {
                    change.state().promised(offered.request()).ifPresent(grant -> issued.accept(lock, grant));
                }
            }
        }
    }

    /** Without offers, barriers and grants of {@code takenBack}: their callers get OUTCOME_UNKNOWN with {@code why}. */
    SyncedResults without(Predicate<Grant> takenBack, String why) {
        List<Reply<?>> others = new ArrayList<>();
        for (Reply<?> reply : replies) {
            boolean tellsBarrier = reply.answer() instanceof Answer.Raised;
            boolean tellsGrant = reply.answer() instanceof Answer.Granted granted && takenBack.test(granted.grant());
            if (tellsBarrier || tellsGrant) {
                reply.outcomeUnknown(why);
            } else {
                others.add(reply);
            }
        }
        List<CommandBatch.Change> rest = changes.stream()
                .map(change -> new CommandBatch.Change(
                        change.state(),
                        change.events().stream()
                                .filter(event -> !(event instanceof LockEvent.Offered))
                                .toList(),
                        change.atMillis()))
                .toList();
        return new SyncedResults(others, rest, dueMillis, epochBase);
    }
}
