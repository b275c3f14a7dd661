package dev.palisade.guard;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import javax.sql.DataSource;

/**
 * The store of a guard's marks, which no crash may take back: {@link #file}, {@link #jdbc} or {@link #memory}. One guard
 * process has it at a time, from {@link Guard.Builder#build} to {@link Guard#close} or its death. Make one for each guard. Safe
 * for use by several threads.
 *
 * <p>A new store may stand in for one that was lost. So its guard asks the lock service for base marks and waits; see {@link
 * #createNeverUsed(Path)}. Never restore a store from an older copy: it would admit former holders.
 */
public abstract class MarkStore implements AutoCloseable {
    /** The bound on a statement of {@link #jdbc(DataSource)}. */
    public static final Duration STATEMENT_TIMEOUT_DEFAULT = Duration.ofSeconds(5);

    /** How long a guard of {@link #shared(DataSource)} may be out of touch with the database. */
    public static final Duration SHARED_LEASE_DEFAULT = Duration.ofSeconds(10);

    MarkStore() {}

    /**
     * Keeps marks in a directory of its own on a local disk: one file, synced before anything is acknowledged, and read and
     * checked whole when the guard opens it. One process has it, by an operating system's file lock. Use a local file system
     * whose syncs and locks can be relied on.
     *
     * <p>The file takes at most 1 MiB or three times the size of its marks, and as much again for a moment when it is
     * rewritten, which happens each time its room is used up. Everything else in the directory, and every damage, is
     * refused: nothing is guessed or repaired. Move a damaged directory away; a new store costs base marks from the lock
     * service and a wait.
     *
     * @param directory a missing or empty one is a new store; not touched before the guard opens it
     */
    public static MarkStore file(Path directory) {
        return new FileMarkStore(directory);
    }

    /**
     * Makes a store for {@link #file} under which nothing was ever guarded: the first grants are admitted without asking the
     * lock service. Only for an operator who knows that; once, at installation, never at each start.
     *
     * @param directory missing or empty
     * @throws RejectedException MARK_UNAVAILABLE: there is a store already, in use or not, or it cannot be made
     */
    public static void createNeverUsed(Path directory) {
        FileMarkStore.makeNeverUsed(directory);
    }

    /** {@link #jdbc(DataSource, Duration)} with {@link #STATEMENT_TIMEOUT_DEFAULT}. */
    public static MarkStore jdbc(DataSource dataSource) {
        return new JdbcMarkStore(dataSource, STATEMENT_TIMEOUT_DEFAULT);
    }

    /**
     * Keeps marks in four tables of a database, PostgreSQL or H2, so that another machine can take a guard's place: the guard
     * that opens the store has it from then on, at once, and the one before is refused at its next call. It does not trust the
     * time in between, and asks the database again and again whether the marks are still its own.
     *
     * <p>One thread, and one transaction for all that has queued up. It takes a connection from the {@link DataSource} for each
     * transaction, so give it a pool; waiting for a connection is bounded by the pool. Commits must be durable when they are
     * answered (PostgreSQL: {@code synchronous_commit} not off, and synchronous replication if a replica may be promoted;
     * H2: {@code WRITE_DELAY=0}). The tables are the caller's to make: {@link #createTables}.
     *
     * @param statementTimeout of a statement, whole seconds, 1 s to 1 h; also the bound on an answer from the network, where
     *     the driver knows one
     * @throws IllegalArgumentException out of that range
     */
    public static MarkStore jdbc(DataSource dataSource, Duration statementTimeout) {
        return new JdbcMarkStore(dataSource, statementTimeout);
    }

    /** {@link #shared(DataSource, Duration)} with {@link #SHARED_LEASE_DEFAULT}. */
    public static MarkStore shared(DataSource dataSource) {
        return shared(dataSource, SHARED_LEASE_DEFAULT);
    }

    /**
     * Keeps marks, and a register of running calls, in a database that several guards share: each replica of a service has a
     * guard with a store of its own over the same tables of PostgreSQL, MySQL or MariaDB. Each call costs two transactions, one to
     * enter and one to leave. The tables are the caller's to make: {@link #createTables}. Commits must be durable when they are
     * answered, as for {@link #jdbc(DataSource, Duration)}.
     *
     * <p>Give it a pool; up to five connections are used at a time, and one is enough. A call that the register cannot be asked
     * about waits, and is refused with MARK_UNAVAILABLE. The entries of a guard that was killed keep their resources closed to
     * other grants until an operator ends them, or {@link Guard.Builder#takeOverAfterLease}.
     *
     * @param lease how long a guard may be out of touch with the database, 1 s to 5 min: after that it admits nothing and asks
     *     its calls to stop. Renewed twice as often
     * @throws IllegalArgumentException out of that range
     */
    public static MarkStore shared(DataSource dataSource, Duration lease) {
        return SharedRegister.of(dataSource, lease, STATEMENT_TIMEOUT_DEFAULT, null);
    }

    /**
     * {@link #shared(DataSource, Duration)} whose waiting calls are woken by NOTIFY when a call of another guard ends. Otherwise
     * they poll, every 10 to 200 ms. PostgreSQL only, and without a pooler that shares connections between transactions.
     *
     * @param listening gives one connection of PostgreSQL's driver, which is kept for LISTEN as long as the guard is open; may be
     *     the same pool with room for one more
     */
    public static MarkStore shared(DataSource dataSource, Duration lease, DataSource listening) {
        return SharedRegister.of(dataSource, lease, STATEMENT_TIMEOUT_DEFAULT, listening);
    }

    /**
     * {@link #shared(DataSource, Duration)} in the fields of another store: each replica's guard has a mark store of its own over
     * the same fields. A call costs two steps, one to enter and one to leave; a step is one {@link SharedFields#compareAndSet},
     * and one more for each time that another guard was faster. Use the module of the store, such as {@code palisade-guard-redis},
     * to get one.
     *
     * @param lease as there
     * @throws IllegalArgumentException out of its range
     */
    public static MarkStore shared(SharedFields fields, Duration lease) {
        return SharedRegister.of(fields, lease);
    }

    /**
     * {@link #createNeverUsed(Path)} in a register of fields.
     *
     * @throws RejectedException MARK_UNAVAILABLE: there is a register already, or it cannot be made
     */
    public static void createNeverUsed(SharedFields fields) {
        new FieldRegister(fields).createNeverUsed();
    }

    /**
     * The fields of one register, outside of a database: texts by name, in a store that compares and sets several of them in one
     * atomic step. For modules that bring such a store; applications pass it on. Safe for use by many threads; every call
     * blocks for a bounded time.
     */
    public interface SharedFields {
        /**
         * Whether the store can be relied on as it is set now; called when a guard opens, and again when it finds that fields may
         * have been lost.
         *
         * @return warnings for an operator, each in one line: what a crash of the store would forget
         * @throws RejectedException MARK_UNAVAILABLE, when the store may lose single fields unnoticed
         */
        Collection<String> inspect();

        /**
         * Sets {@code changes} if the store is still {@code process} and each field of {@code expected} has that value. Sent at most
         * once; whoever gets an {@link IOException} may not count on either outcome, now or later.
         *
         * @param process a {@link Reply#process}; empty: any
         * @param expected values by field; empty: there is no such field
         * @param changes values by field; empty: deleted
         * @throws RejectedException MARK_UNAVAILABLE: certainly nothing was set
         * @throws IOException it may be set, or be set later
         */
        Reply compareAndSet(String process, Map<String, String> expected, Map<String, String> changes)
                throws IOException;

        /** Sends {@code message} to the listener of every guard with the same fields. Best effort; does not block. */
        default void announce(String message) {}

        /**
         * Has {@code listener} called with each {@link #announce}; called at most once.
         *
         * @return what ends that; empty: this store does not announce, and waiting calls poll
         * @throws RejectedException MARK_UNAVAILABLE: it should, and cannot
         */
        default Optional<Runnable> subscribe(Consumer<String> listener) {
            return Optional.empty();
        }

        /** What an operator runs to delete a field, in one line. */
        String commandToDelete(String field);

        /**
         * A reply.
         *
         * @param process names this run of the store and this history of its data, without spaces: another one after each
         *     restart, failover or restore that may have lost fields
         * @param done whether the changes were set
         * @param values if it was the right process and they were not set: the value of each expected field, empty if there is none
         */
        record Reply(String process, boolean done, Map<String, String> values) {}
    }

    /**
     * Creates the tables for {@link #jdbc} and {@link #shared(DataSource)} unless they exist, those of the latter where the
     * database can hold them; the same DDL ships beside this class as {@code palisade_marks.sql}, {@code palisade_register.sql}
     * and {@code palisade_register_mysql.sql}.
     *
     * @throws RejectedException MARK_UNAVAILABLE, in one line
     */
    public static void createTables(DataSource dataSource) {
        if (!JdbcRegister.createTables(dataSource, STATEMENT_TIMEOUT_DEFAULT)) {
            new JdbcMarkStore(dataSource, STATEMENT_TIMEOUT_DEFAULT).createTables();
        }
    }

    /**
     * {@link #createNeverUsed(Path)} in a database, after {@link #createTables}.
     *
     * @throws RejectedException MARK_UNAVAILABLE: there is a store already, or it cannot be made
     */
    public static void createNeverUsed(DataSource dataSource) {
        new JdbcMarkStore(dataSource, STATEMENT_TIMEOUT_DEFAULT).createNeverUsed();
    }

    /**
     * Keeps nothing. Each start is that of a new store: after a restart of the guard every grant from before is refused and
     * its holder has to acquire again. Safe, needs no disk, and costs that.
     */
    public static MarkStore memory() {
        return new MemoryMarkStore();
    }

    // For the guard. A stage that completes normally means durable. One that fails means that the state is unknown: the
    // store then takes nothing more, every later stage fails too, and only opening it anew shows what is kept. A failed
    // confirm alone may be repeated while failure() is empty, because it changes nothing. Failures are
    // RejectedException
    // with MARK_UNAVAILABLE and one line on what is wrong and what to do. Stages may be completed on the store's own
    // thread: what depends on them must not block.

    /**
     * Takes the store for this process and reads it whole. Called once, first. Blocks. From its return the store no longer
     * counts as closed in order.
     *
     * @throws dev.palisade.contract.RejectedException MARK_UNAVAILABLE: damaged, unreadable, or in use by another process
     */
    abstract KeptMarks open();

    /** Keeps {@code mark} in place of the one of its resource. Stages complete in the order of the calls. */
    abstract CompletionStage<Void> put(StoredMark mark);

    /**
     * Keeps {@code base} in place of the one of its issuer and domain, and drops the marks of {@code dropped}, in one step.
     * {@link BaseMark#token()} 0 marks a domain as never used.
     */
    abstract CompletionStage<Void> putBase(BaseMark base, Collection<String> dropped);

    /**
     * Drops every mark and base mark, and makes the store one that is not {@link KeptMarks#complete}, in one step: nothing is
     * known any more of the grants before. Registrations are kept.
     */
    abstract CompletionStage<Void> forgetMarks();

    /**
     * Keeps {@code token} in place of the one of {@code name}: while the guard is registered under {@code name} with this
     * token, its marks have missed no grant that another guard of that name admitted before.
     *
     * @param name 1 to 200 bytes
     * @param token of the registration; 0: the marks have missed grants
     */
    abstract CompletionStage<Void> putRegistration(String name, long token);

    /**
     * Completes when no other process can have taken the store over before this call. Asked for each call that is let in
     * without a {@link #put}, unless {@link #isHeldForLife()}.
     */
    abstract CompletionStage<Void> confirm();

    /** Whether no other process can take the store while this one lives: then {@link #confirm} has nothing to add. */
    abstract boolean isHeldForLife();

    /**
     * Identity of the marks, kept with them: 32 hexadecimal digits. Stores over the same place have the same one; stores
     * with different ones have separate marks. Known once {@link #open} has returned.
     */
    abstract String id();

    /** Whether several guards use the store side by side, each for its own calls: {@link #shared}. */
    boolean isShared() {
        return false;
    }

    /** What {@link #putRegistration} kept last under {@code name}; only asked of a store that {@link #isShared}. */
    CompletionStage<Optional<Long>> registration(String name) {
        throw new IllegalStateException("one guard has this store and knows its registrations");
    }

    /** Why the store takes nothing more until it is opened anew; empty while it does. Does not block. */
    abstract Optional<Rejection> failure();

    /**
     * Gives the store up. Blocks until everything put is kept. Without a call of this, the store was not closed in order.
     *
     * @param inOrder whether the end of every call that was let in is known
     */
    abstract void close(boolean inOrder);

    /** Gives the store up, unless a guard has it: {@link Guard#close} does that. */
    @Override
    public final void close() {
        close(false);
    }

    /**
     * One resource's mark as it is kept.
     *
     * @param resource the key: 1 to {@link Binding#RESOURCE_BYTES_MAX} bytes
     * @param issuer whose tokens these are; tokens of different issuers or locks have no order
     * @param lock the lock that the resource was bound to
     * @param mark the mark; never lower than the one kept before, unless issuer or lock changed
     * @param raisedAtMillis when, milliseconds since 1970; for people, never compared
     */
    public record StoredMark(String resource, String issuer, LockName lock, Mark mark, long raisedAtMillis) {}
}
