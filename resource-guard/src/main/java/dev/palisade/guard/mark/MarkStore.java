package dev.palisade.guard.mark;

import dev.palisade.contract.Rejection;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Keeps marks so that no crash takes them back. One guard process has a store at a time. Safe for use by several threads
 * once {@link #open} has returned.
 *
 * <p>A stage that completes normally means <em>durable</em>. One that fails means that nobody knows; the store then takes
 * nothing more, every later stage fails too, and only opening it anew tells what is kept. A failed {@link #confirm} alone
 * may be repeated while {@link #failure} is empty, because it changes nothing. Failures are {@link
 * dev.palisade.contract.RejectedException} with MARK_UNAVAILABLE and one line on what is wrong and what to do. Stages may be
 * completed on the store's own thread: whoever hangs on to them must not block.
 */
public interface MarkStore extends AutoCloseable {
    /**
     * Takes the store for this process and reads it whole. Called once, first. Blocks. From its return the store no longer
     * counts as closed in order.
     *
     * @throws dev.palisade.contract.RejectedException MARK_UNAVAILABLE: damaged, unreadable, or in use by another process
     */
    KeptMarks open();

    /** Keeps {@code mark} in place of the one of its resource. Stages complete in the order of the calls. */
    CompletionStage<Void> put(StoredMark mark);

    /**
     * Keeps {@code base} in place of the one of its issuer and domain, and drops the marks of {@code dropped}, in one step.
     * {@link BaseMark#token()} 0 marks a domain as never used.
     */
    CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped);

    /**
     * Completes when no other process can have taken the store over before this call. Asked for each call that is let in
     * without a {@link #put}, unless {@link #isHeldForLife()}.
     */
    CompletionStage<Void> confirm();

    /** Whether nobody else can take the store while this process lives: then {@link #confirm} has nothing to add. */
    boolean isHeldForLife();

    /**
     * Identity of the marks, kept with them: 32 hexadecimal digits. Stores over the same place have the same one; stores
     * with different ones have separate marks. Known once {@link #open} has returned.
     */
    String id();

    /** Why the store takes nothing more until it is opened anew; empty while it does. Does not block. */
    Optional<Rejection> failure();

    /**
     * Gives the store up. Blocks until everything put is kept. Without a call of this, the store was not closed in order.
     *
     * @param inOrder whether the end of every call that was let in is known
     */
    void close(boolean inOrder);

    /** {@code close(false)}. */
    @Override
    default void close() {
        close(false);
    }
}
