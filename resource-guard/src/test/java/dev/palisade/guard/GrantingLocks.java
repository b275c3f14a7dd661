package dev.palisade.guard;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.guard.LockService.LeaseReply;
import dev.palisade.guard.LockService.LeaseRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A lock service that grants every registration: for tests that are about something else. */
public interface GrantingLocks extends LockService {
    @Override
    default CompletionStage<LeaseReply> tryAcquire(LeaseRequest request) {
        return CompletableFuture.completedStage(
                new LeaseReply.Granted(request.lock(), request.id().session(), new FencingToken(1), new GrantId(1, 1)));
    }

    @Override
    default CompletionStage<List<Long>> recentTokens(LockName lock) {
        return CompletableFuture.completedStage(List.of(1L));
    }

    @Override
    default CompletionStage<Void> renew(LeaseReply.Granted lease) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    default CompletionStage<Void> release(LeaseReply.Granted lease) {
        return CompletableFuture.completedStage(null);
    }
}
