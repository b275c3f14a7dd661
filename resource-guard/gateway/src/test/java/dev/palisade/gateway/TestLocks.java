package dev.palisade.gateway;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.guard.LockService;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Plays the lock server: signs whatever grant a test wants, and grants every registration. */
final class TestLocks implements LockService {
    /** The token of the next barrier: marks that are lost are raised to it. */
    volatile long barrier = 1;

    private final SequencerKeys keys = SequencerKeys.generate();

    SequencerVerifier verifier() {
        return keys.verifier("palisade");
    }

    /** The text of an EXCLUSIVE grant's sequencer. */
    String exclusive(String lock, long token) {
        return sequencer(lock, Mode.EXCLUSIVE, token);
    }

    String sequencer(String lock, Mode mode, long token) {
        return keys.sign(new Sequencer(
                        "palisade", new LockName(lock), mode, new FencingToken(token), new GrantId(7, token), 0))
                .toText();
    }

    @Override
    public CompletionStage<Long> barrier(LockName lock) {
        return CompletableFuture.completedStage(barrier);
    }

    @Override
    public CompletionStage<Boolean> isAlive(SignedSequencer sequencer) {
        return CompletableFuture.completedStage(true);
    }

    @Override
    public CompletionStage<LeaseReply> tryAcquire(LeaseRequest request) {
        return CompletableFuture.completedStage(
                new LeaseReply.Granted(request.lock(), request.id().session(), new FencingToken(1), new GrantId(1, 1)));
    }

    @Override
    public CompletionStage<List<Long>> recentTokens(LockName lock) {
        return CompletableFuture.completedStage(List.of(1L));
    }

    @Override
    public CompletionStage<Void> renew(LeaseReply.Granted lease) {
        return CompletableFuture.completedStage(null);
    }

    @Override
    public CompletionStage<Void> release(LeaseReply.Granted lease) {
        return CompletableFuture.completedStage(null);
    }
}
