package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.sql.SQLException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a register in one atomic step of a {@link RegisterStore}. Decides nothing. Methods fail with an {@link
 * SQLException} where a database would: nothing of the step happens then.
 */
interface RegisterRows {
    /**
     * What a step has to know of the whole register.
     *
     * @param epoch marks of earlier ones count as missing
     * @param settled the newest epoch whose waiting period is over
     * @param complete whether a domain without a base mark was never used
     * @param deltaMillis the longest &#916; of any guard
     * @param waitMillis the waiting period of an epoch that is not settled
     */
    record State(long epoch, long settled, boolean complete, long deltaMillis, long waitMillis) {
        boolean isSettled() {
            return settled >= epoch;
        }
    }

    /** @param base of the domain that was asked for; empty: none in this epoch */
    record StateAndBase(State state, Optional<Long> base) {}

    /**
     * A guard of the register.
     *
     * @param beats raised by each renewal of its lease
     * @param calls how many of its calls are registered; -1: not counted
     */
    record GuardRow(String id, String owner, long leaseMillis, long beats, long calls) {}

    /**
     * The mark of a resource.
     *
     * @param mark null: the resource was not used yet
     * @param epoch when the mark was raised last; that of an earlier epoch counts as missing
     */
    record MarkRow(@Nullable StoredMark mark, long epoch) {}

    State state() throws SQLException;

    StateAndBase state(String issuer, int domain) throws SQLException;

    /** The waiting period of {@code epoch} is over. */
    void settle(long epoch) throws SQLException;

    /** All marks and base marks count as missing from now on. */
    void raiseEpoch() throws SQLException;

    /** Keeps the base mark of a domain unless there is one of this epoch or of a later one. */
    void putBase(BaseMark base, long epoch) throws SQLException;

    /** Steps that begin with this follow one another for each resource. */
    MarkRow lockMark(String resource) throws SQLException;

    void putMark(StoredMark stored, long epoch) throws SQLException;

    /** The calls of every guard at {@code resource}. */
    List<RegisteredCall> calls(String resource) throws SQLException;

    /** Fails with a violated constraint when the guard has no row any more. */
    void register(String resource, RegisteredCall call) throws SQLException;

    /**
     * Removes calls of {@code guard}; those that are not there do not matter. After it, no earlier step with an unknown outcome
     * can register them any more.
     */
    void remove(String resource, String guard, Collection<Long> numbers) throws SQLException;

    void quarantine(String resource, String guard, Collection<Long> numbers) throws SQLException;

    /** A call of this guard waits for calls of others at {@code resource}: the guard that ends one is to announce it. */
    void awaitLeave(String resource) throws SQLException;

    /** Calls left {@code resource}: tells the guards that wait, once the step is done. */
    void announceLeave(String resource) throws SQLException;

    /** @return whether the guard still has its row */
    boolean renew(String guard) throws SQLException;

    List<GuardRow> guards() throws SQLException;

    /** Ends a guard and all its calls. */
    boolean deleteGuard(String id) throws SQLException;

    /** The same, unless it has renewed its lease since. */
    boolean deleteGuard(String id, long beats) throws SQLException;

    /**
     * The marks of the resources in which {@code guard} has calls.
     *
     * @param resources at least these
     */
    Map<String, Mark> marksOfCalls(String guard, Collection<String> resources) throws SQLException;

    void putRegistration(String name, long token) throws SQLException;

    Optional<Long> registration(String name) throws SQLException;
}
