package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.guard.MarkStore.StoredMark;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The store in a database, where another process can take it over at any time. */
@Timeout(120)
abstract class JdbcMarkStoreContract extends MarkStoreContract {
    /** How a commit through {@link #dataSource} ends. */
    enum Commits {
        AS_THEY_ARE,
        APPLIED_BUT_UNANSWERED,
        LOST
    }

    private final AtomicInteger commits = new AtomicInteger();
    private volatile Commits howTheyEnd = Commits.AS_THEY_ARE;

    abstract DataSource database();

    @BeforeEach
    void create() throws SQLException {
        drop();
        MarkStore.createTables(database());
        MarkStore.createTables(database());
    }

    @AfterEach
    void drop() throws SQLException {
        execute("DROP TABLE IF EXISTS palisade_marks_owner, palisade_marks, palisade_mark_bases,"
                + " palisade_mark_registrations");
    }

    final void execute(String sql) throws SQLException {
        try (Connection connection = database().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The database, with commits that are counted and end as a test wants. */
    private DataSource dataSource() {
        return on(
                DataSource.class,
                database(),
                "getConnection",
                connection -> on(Connection.class, (Connection) connection.run(), "commit", this::commit));
    }

    private interface Call {
        Object run() throws Exception;
    }

    private interface Around {
        Object call(Call call) throws Exception;
    }

    private static <T> T on(Class<T> type, T real, String method, Around around) {
        return type.cast(Proxy.newProxyInstance(
                JdbcMarkStoreContract.class.getClassLoader(), new Class<?>[] {type}, (self, called, arguments) -> {
                    Call call = () -> {
                        try {
                            return called.invoke(real, arguments);
                        } catch (InvocationTargetException e) {
                            throw (Exception) e.getCause();
                        }
                    };
                    return called.getName().equals(method) ? around.call(call) : call.run();
                }));
    }

    private Object commit(Call call) throws Exception {
        commits.incrementAndGet();
        if (howTheyEnd == Commits.LOST) {
            throw new SQLException("the network is gone", "08006");
        }
        Object nothing = call.run();
        if (howTheyEnd == Commits.APPLIED_BUT_UNANSWERED) {
            throw new SQLException("the network is gone", "08006");
        }
        return nothing;
    }

    @Override
    MarkStore store() {
        return MarkStore.jdbc(dataSource());
    }

    @Override
    void createNeverUsed() {
        MarkStore.createNeverUsed(database());
    }

    @Override
    void breakIt() throws SQLException {
        execute("DROP TABLE palisade_marks");
    }

    @Test
    void itIsNotHeldForLife() throws Exception {
        MarkStore store = open();
        assertThat(store.isHeldForLife()).isFalse();
        await(store.confirm());
    }

    @Test
    void whoTakesTheStoreOverHasItAndFindsWhatTheOtherPut() throws Exception {
        MarkStore before = open();
        await(before.put(mark("a", 1)));
        MarkStore after = store();
        assertThat(after.open().marks()).containsExactly(mark("a", 1));

        assertFails(before.put(mark("a", 2)), "another guard instance now owns these marks");
        assertFails(before.confirm(), "another guard instance now owns these marks");
        before.close(true);
        await(after.put(mark("a", 3)));
        await(after.confirm());
        after.close();
        KeptMarks kept = found();
        assertThat(kept.marks()).containsExactly(mark("a", 3));
        assertThat(kept.closedInOrder())
                .as("the word of one that has it no more")
                .isFalse();
    }

    @Test
    void eachWayOfTellingTheStoreNoticesThatAnotherHasIt() throws Exception {
        for (int way = 0; way < 5; way++) {
            MarkStore before = open();
            await(before.confirm());
            open();
            CompletionStage<Void> first = switch (way) {
                case 0 -> before.confirm();
                case 1 -> before.put(mark("a", 1));
                case 2 -> before.putBase(base(1, 1), List.of());
                case 3 -> before.forgetMarks();
                default -> before.putRegistration("shop.Orders", 1);
            };
            assertFails(first, "another guard instance now owns these marks");
        }
        assertThat(found()).isEqualTo(new KeptMarks(false, false, List.of(), List.of()));
    }

    @Test
    void closingInOrderIsNotBelievedOfOneThatNoLongerHasTheStore() {
        MarkStore before = open();
        open();
        before.close(true);
        assertThat(found().closedInOrder()).isFalse();
    }

    /** Whatever is acknowledged to the one before is seen by the one that took over, at any moment. */
    @Test
    void nothingIsAcknowledgedThatASuccessorDoesNotFind() throws Exception {
        MarkStore current = open();
        for (int round = 1; round <= 15; round++) {
            List<CompletionStage<Void>> stages = new ArrayList<>();
            MarkStore before = current;
            int base = round * 1000;
            CompletableFuture<Void> putting = CompletableFuture.runAsync(() -> {
                CompletionStage<Void> last = before.confirm();
                for (int i = 1; i < 1000 && !last.toCompletableFuture().isCompletedExceptionally(); i++) {
                    last = before.put(mark("a", base + i));
                    stages.add(last);
                }
            });
            MarkStore after = store();
            List<StoredMark> marks = after.open().marks();
            putting.join();
            int acknowledged = 0;
            for (CompletionStage<Void> stage : stages) {
                try {
                    await(stage);
                    acknowledged++;
                } catch (ExecutionException e) {
                    break;
                }
            }
            long found = marks.isEmpty() ? 0 : marks.get(0).mark().exclusiveToken();
            if (acknowledged > 0) {
                assertThat(found).isEqualTo(base + acknowledged);
            }
            before.close();
            current = after;
        }
        current.close();
    }

    @Test
    void aCommitWithoutAnAnswerIsUnknownAndTheEndOfTheStore() throws Exception {
        int token = 0;
        for (Commits end : List.of(Commits.APPLIED_BUT_UNANSWERED, Commits.LOST)) {
            MarkStore store = open();
            howTheyEnd = end;
            CompletionStage<Void> put = store.put(mark("a", ++token));
            assertFails(put, "may or may not", "the network is gone");
            howTheyEnd = Commits.AS_THEY_ARE;
            assertFails(store.confirm(), "may or may not", "the network is gone");
        }
        assertThat(found().marks()).as("only the first was kept").containsExactly(mark("a", 1));
    }

    @Test
    void confirmThatTheDatabaseCannotAnswerMayBeRepeated() throws Exception {
        MarkStore store = open();
        howTheyEnd = Commits.LOST;
        assertFails(store.confirm(), "could not confirm", "the network is gone");
        assertThat(store.failure()).isEmpty();
        howTheyEnd = Commits.AS_THEY_ARE;
        await(store.confirm());
        await(store.put(mark("a", 1)));
        open();
        assertFails(store.confirm(), "another guard instance now owns these marks", "would let late writes through");
        assertThat(store.failure()).isPresent();
    }

    @Test
    void tablesOfAnOlderVersionAreMigrated() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        store.close();
        execute("ALTER TABLE palisade_marks_owner DROP COLUMN marks_id");
        assertUnavailable(() -> store().open(), "createTable");
        MarkStore.createTables(database());
        MarkStore migrated = open();
        assertThat(migrated.id()).hasSize(32);
        migrated.close();
        assertThat(found().marks()).containsExactly(mark("a", 1));
    }

    @Test
    void emptiedTablesHaveAnotherIdentity() throws Exception {
        MarkStore store = open();
        String before = store.id();
        store.close();
        execute("DELETE FROM palisade_marks_owner");
        assertThat(open().id()).isNotEqualTo(before);
    }

    @Test
    void whatQueuesUpIsKeptInFewTransactions() throws Exception {
        MarkStore store = open();
        commits.set(0);
        try (Connection other = database().getConnection();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT owner FROM palisade_marks_owner WHERE id = 1 FOR UPDATE")
                    .close();
            CompletionStage<Void> last = store.confirm();
            for (int i = 1; i <= 1000; i++) {
                last = i % 10 == 0 ? store.confirm() : store.put(mark("r" + i % 20, i));
            }
            assertThat(last.toCompletableFuture()).isNotDone();
            other.rollback();
            await(last);
        }
        assertThat(commits.get()).isLessThanOrEqualTo(2);
    }

    @Test
    void noWaitForTheOwnerRowIsWithoutABound() throws Exception {
        MarkStore store = MarkStore.jdbc(database(), Duration.ofSeconds(1));
        store.open();
        try (Connection other = database().getConnection();
                Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            statement
                    .executeQuery("SELECT owner FROM palisade_marks_owner WHERE id = 1 FOR UPDATE")
                    .close();
            assertFails(store.put(mark("a", 1)), "cannot be read or kept");
            assertUnavailable(
                    () -> MarkStore.jdbc(database(), Duration.ofSeconds(1)).open(), "cannot be read or kept");
            other.rollback();
        }
        assertFails(store.put(mark("a", 1)), "cannot be read or kept");
        store.close();
    }

    @Test
    void aTimeoutOutOfRangeIsRefused() {
        for (Duration timeout :
                List.of(Duration.ofMillis(999), Duration.ofHours(1).plusNanos(1))) {
            assertThatThrownBy(() -> MarkStore.jdbc(database(), timeout)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void withoutItsTablesItSaysWhatToDo() throws SQLException {
        drop();
        assertUnavailable(() -> store().open(), "createTable");
    }

    @Test
    void marksWithoutAnOwnerAreNoNewStore() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        store.close();
        execute("DELETE FROM palisade_marks_owner");
        assertUnavailable(() -> store().open(), "palisade_marks_owner", "damaged");
        assertUnavailable(() -> store().open(), "palisade_marks_owner", "damaged");
        assertUnavailable(this::createNeverUsed, "already");
    }

    @Test
    void aStoreWhoseOwnerRowVanishesIsLost() throws Exception {
        MarkStore store = open();
        execute("DELETE FROM palisade_marks_owner");
        assertFails(store.put(mark("a", 1)), "another guard instance now owns these marks");
    }

    @Test
    void aRowThatHoldsNoMarkIsDamageAndTakesNothingOver() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        execute("UPDATE palisade_marks SET x_grant = ''");
        assertUnavailable(() -> store().open(), "holds no mark");
        await(store.confirm());
        execute("UPDATE palisade_marks SET x_grant = 'not hexadecimal'");
        assertUnavailable(() -> store().open(), "holds no mark");
    }

    @Test
    void connectionsAreGivenBackAsTheyWere() throws Exception {
        try (Connection only = database().getConnection()) {
            only.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            DataSource source = on(
                    DataSource.class,
                    database(),
                    "getConnection",
                    call -> on(Connection.class, only, "close", closing -> only));
            MarkStore store = MarkStore.jdbc(source);
            store.open();
            await(store.put(mark("a", 1)));
            store.close();
            assertThat(only.getAutoCommit()).isTrue();
            assertThat(only.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_SERIALIZABLE);
            assertThat(only.getNetworkTimeout()).isZero();
        }
    }
}
