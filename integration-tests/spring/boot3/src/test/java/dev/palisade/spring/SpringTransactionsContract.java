package dev.palisade.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.Mark;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.OptimisticLockingFailureException;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** {@link FencedJdbc} in a Boot application with Hibernate, JdbcTemplate and Hikari's default pool, on a database. */
@NullUnmarked
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SpringTransactionsContract {
    private static final Binding ORDER = Binding.of("orders/42");

    enum Manager {
        JPA,
        JDBC
    }

    private KeysetFile keyset;
    private GrantingServer locks;
    private ConfigurableApplicationContext shop;
    private FencedJdbc fenced;
    private JdbcTemplate jdbc;
    private EntityManager entities;

    /** Of {@code spring.datasource}. */
    abstract String url() throws Exception;

    abstract String user();

    @BeforeAll
    void start(@TempDir Path directory) throws Exception {
        keyset = KeysetFile.openOrCreate(directory.resolve("keyset"));
        locks = new GrantingServer(keyset);
        shop = new SpringApplicationBuilder(Shop.class)
                .properties(
                        "spring.datasource.url=" + url(),
                        "spring.datasource.username=" + user(),
                        "spring.jpa.hibernate.ddl-auto=create",
                        "spring.sql.init.mode=always",
                        "spring.sql.init.schema-locations=classpath:dev/palisade/guard/palisade_fence.sql",
                        "spring.main.banner-mode=off",
                        "logging.level.root=warn",
                        "orders.lock-servers=" + locks.address(),
                        "orders.palisade-keyset=" + keyset.path())
                .run();
        fenced = shop.getBean(FencedJdbc.class);
        jdbc = shop.getBean(JdbcTemplate.class);
        entities = shop.getBean(EntityManager.class);
    }

    @AfterAll
    void stop() {
        shop.close();
        locks.close();
    }

    @BeforeEach
    void freshRows() {
        jdbc.update("DELETE FROM palisade_fence");
        jdbc.update("DELETE FROM orders");
        jdbc.update("DELETE FROM versioned_orders");
        jdbc.update("INSERT INTO orders (id, amount) VALUES (42, 0)");
        jdbc.update("INSERT INTO versioned_orders (id, amount, version) VALUES (42, 0, 0)");
    }

    @Test
    void bootConfiguresTheManagerThatTheGuideNames() {
        assertThat(shop.getBean(PlatformTransactionManager.class)).isInstanceOf(JpaTransactionManager.class);
    }

    @Test
    void lateCallsThroughTheExamplesAreRefused() {
        JdbcOrders jdbcOrders = shop.getBean(JdbcOrders.class);
        JpaOrders jpaOrders = shop.getBean(JpaOrders.class);
        jdbcOrders.add(token(34), 42, 1);
        jpaOrders.add(token(35), 42, 10);
        refused(() -> jdbcOrders.add(token(34), 42, 100), Reason.TOKEN_STALE);
        refused(() -> jpaOrders.add(token(33), 42, 100), Reason.TOKEN_STALE);
        assertThat(amount()).isEqualTo(11);
        assertThat(mark().exclusiveToken()).isEqualTo(35);
    }

    @ParameterizedTest
    @EnumSource
    void rollbackLowersTheMarkWithTheData(Manager manager) {
        assertThatThrownBy(() -> transaction(manager).executeWithoutResult(status -> {
                    guard().check(token(34), ORDER, Access.WRITE);
                    jdbc.update("UPDATE orders SET amount = 1");
                    throw new IllegalStateException("changed my mind");
                }))
                .hasMessage("changed my mind");
        assertThat(amount()).isZero();
        assertThat(mark()).isEqualTo(Mark.NONE);
    }

    /** The statement of the README, pasted into a service that has a transaction already. */
    @ParameterizedTest
    @EnumSource
    void writeInsideATransactionIsRefused(Manager manager) {
        assertThatThrownBy(() -> transaction(manager)
                        .executeWithoutResult(status -> write(34, connection -> {
                            try (PreparedStatement update =
                                    connection.prepareStatement("UPDATE orders SET amount = 1")) {
                                update.executeUpdate();
                            }
                        })))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("a Spring transaction is active")
                .hasMessageContaining("FencedJdbc.check")
                .hasMessageNotContaining("\n");
        assertThat(amount()).isZero();
        assertThat(mark()).isEqualTo(Mark.NONE);
        assertThatThrownBy(() -> transaction(manager).executeWithoutResult(status -> claim(34)))
                .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void outsideATransactionWriteAndClaimWork() {
        write(34, connection -> {
            try (PreparedStatement update = connection.prepareStatement("UPDATE orders SET amount = 1")) {
                update.executeUpdate();
            }
        });
        assertThat(amount()).isEqualTo(1);
        TransactionTemplate suspended = new TransactionTemplate(shop.getBean(PlatformTransactionManager.class));
        suspended.setPropagationBehavior(TransactionDefinition.PROPAGATION_NOT_SUPPORTED);
        transaction(Manager.JPA).executeWithoutResult(status -> suspended.executeWithoutResult(left -> claim(35)));
        assertThat(mark().exclusiveToken()).isEqualTo(35);
    }

    @Test
    void workThatUsesAnotherConnectionIsRefused() {
        for (Runnable elsewhere : List.<Runnable>of(
                () -> jdbc.update("UPDATE orders SET amount = amount + 1"),
                () -> entities.find(Order.class, 42L),
                () -> {})) {
            assertThatThrownBy(() -> write(34, connection -> elsewhere.run()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("never used its connection")
                    .hasMessageContaining("FencedJdbc.check");
            assertThat(mark()).isEqualTo(Mark.NONE);
        }
    }

    @Test
    void transactionAwareDataSourceIsRefused() {
        DataSource aware = new TransactionAwareDataSourceProxy(dataSource());
        assertThatThrownBy(() -> FencedJdbc.create(aware, keyset.verifier("palisade")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("getTargetDataSource()");
    }

    @Test
    void checkOutsideATransactionIsRefused() {
        assertThatThrownBy(() -> guard().check(token(34), ORDER, Access.WRITE))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("autocommit");
    }

    @ParameterizedTest
    @EnumSource
    void fortyFirstWritesShareHikarisDefaultPool(Manager manager) throws Exception {
        for (int i = 0; i < 40; i++) {
            jdbc.update("INSERT INTO orders (id, amount) VALUES (?, 0)", 100 + i);
        }
        ExecutorService threads = Executors.newFixedThreadPool(40);
        try {
            List<Callable<Integer>> writes = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                int id = 100 + i;
                writes.add(() -> transaction(manager).execute(status -> {
                    guard().check(sequencer("orders/" + id, 1), Binding.of("orders/" + id), Access.WRITE);
                    return jdbc.update("UPDATE orders SET amount = 1 WHERE id = ?", id);
                }));
            }
            for (Future<Integer> write : threads.invokeAll(writes)) {
                assertThat(write.get()).isEqualTo(1);
            }
        } finally {
            threads.shutdown();
            assertThat(threads.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {TransactionDefinition.ISOLATION_REPEATABLE_READ, TransactionDefinition.ISOLATION_SERIALIZABLE})
    void firstUseWorksUnderASnapshot(int isolation) {
        for (Manager manager : Manager.values()) {
            TransactionTemplate transaction = transaction(manager);
            transaction.setIsolationLevel(isolation);
            transaction.executeWithoutResult(status -> {
                guard().check(token(34), ORDER, Access.WRITE);
                jdbc.update("UPDATE orders SET amount = amount + 1");
            });
            jdbc.update("DELETE FROM palisade_fence");
        }
        assertThat(amount()).isEqualTo(2);
    }

    /** A nested transaction is a savepoint: rolled back, it takes the check along and leaves the transaction open. */
    @Test
    void checkThatASavepointTookBackIsFoundBeforeTheCommit() {
        TransactionTemplate nested = transaction(Manager.JDBC);
        nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
        refused(
                () -> transaction(Manager.JDBC).executeWithoutResult(status -> {
                    nested.executeWithoutResult(inner -> {
                        guard().check(token(34), ORDER, Access.WRITE);
                        inner.setRollbackOnly();
                    });
                    jdbc.update("UPDATE orders SET amount = 1");
                }),
                Reason.OUTCOME_UNKNOWN);
        assertThat(amount()).isZero();
    }

    /** It was applied, so the loop of the guide must not repeat it. */
    @Test
    void commitWithoutAReplyIsNoConcurrencyFailure() {
        DataSource breaking = new DelegatingDataSource(dataSource()) {
            @Override
            public Connection getConnection() throws SQLException {
                return breakingInTheCommit(super.getConnection());
            }
        };
        assertThatThrownBy(() -> new TransactionTemplate(new JdbcTransactionManager(breaking))
                        .executeWithoutResult(
                                status -> new JdbcTemplate(breaking).update("UPDATE orders SET amount = 1")))
                .isInstanceOf(DataAccessResourceFailureException.class)
                .isNotInstanceOf(ConcurrencyFailureException.class);
        assertThat(amount()).isEqualTo(1);
    }

    private static Connection breakingInTheCommit(Connection connection) {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(connection, arguments);
                    if (method.getName().equals("commit")) {
                        throw new SQLException("the connection broke in the commit", "08006");
                    }
                    return result;
                });
    }

    @Test
    void serviceReleasesItsLockAfterTheCommit() throws InterruptedException {
        List<Integer> seenAtTheRelease = new CopyOnWriteArrayList<>();
        locks.onRelease(() -> seenAtTheRelease.add(amount()));
        shop.getBean(LockedOrders.class).add(42, 1);
        shop.getBean(LockedOrders.class).add(42, 10);
        assertThat(seenAtTheRelease).containsExactly(1, 11);
        assertThat(mark().exclusiveToken()).isGreaterThan(1_000);
    }

    @Test
    void contextClosesTheClientOfTheGuide() {
        PalisadeClient client;
        try (ConfigurableApplicationContext closing = new SpringApplicationBuilder(LockConfiguration.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "spring.main.banner-mode=off",
                        "logging.level.root=warn",
                        "orders.lock-servers=" + locks.address())
                .run()) {
            client = closing.getBean(PalisadeClient.class);
        }
        assertThatThrownBy(() -> client.tryAcquire("orders/42"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
    }

    @Test
    void retriedCallRunsInANewTransaction() {
        int[] runs = new int[1];
        new RetriedOrders(new JdbcOrders(guard(), jdbc) {
                    @Override
                    public void add(SignedSequencer sequencer, long order, int amount) {
                        if (++runs[0] < 3) {
                            throw new CannotAcquireLockException("serialization failure");
                        }
                        transaction(Manager.JPA).executeWithoutResult(status -> super.add(sequencer, order, amount));
                    }
                })
                .add(token(34), 42, 1);
        assertThat(runs[0]).isEqualTo(3);
        assertThat(amount()).isEqualTo(1);
    }

    /** Why the guide says so: an open view keeps what it read before the check, and the check cannot know. */
    @Test
    void entityReadBeforeTheCheckOverwritesAValidWrite() {
        inAnOpenView(() -> {
            entities.find(Order.class, 42L);
            formerHolderAdds(33, 1);
            transaction(Manager.JPA).executeWithoutResult(status -> {
                jdbc.execute((ConnectionCallback<Object>)
                        connection -> fenced.check(connection, token(34), ORDER, Access.WRITE));
                addByJpa(1);
            });
        });
        assertThat(amount()).as("one of two was lost").isEqualTo(1);
    }

    @Test
    void remediesForEntitiesReadBeforeTheCheck() {
        inAnOpenView(() -> {
            entities.find(Order.class, 42L);
            formerHolderAdds(33, 1);
            shop.getBean(JpaOrders.class).add(token(34), 42, 1);
        });
        assertThat(amount()).as("cleared by the check of the example").isEqualTo(2);
        inAnOpenView(() -> {
            entities.find(Order.class, 42L);
            formerHolderAdds(35, 1);
            transaction(Manager.JPA).executeWithoutResult(status -> {
                jdbc.execute((ConnectionCallback<Object>)
                        connection -> fenced.check(connection, token(36), ORDER, Access.WRITE));
                entities.refresh(entities.find(Order.class, 42L));
                addByJpa(1);
            });
        });
        assertThat(amount()).as("refreshed").isEqualTo(4);
        inAnOpenView(() -> {
            entities.find(VersionedOrder.class, 42L);
            jdbc.update("UPDATE versioned_orders SET amount = 1, version = version + 1");
            assertThatThrownBy(() -> transaction(Manager.JPA).executeWithoutResult(status -> {
                        jdbc.execute((ConnectionCallback<Object>)
                                connection -> fenced.check(connection, token(37), ORDER, Access.WRITE));
                        VersionedOrder order = entities.find(VersionedOrder.class, 42L);
                        order.setAmount(order.amount() + 1);
                    }))
                    .as("found out by its version")
                    .isInstanceOf(OptimisticLockingFailureException.class);
        });
    }

    /** What Boot's open-in-view does round a request. */
    private void inAnOpenView(Runnable request) {
        EntityManagerFactory factory = shop.getBean(EntityManagerFactory.class);
        EntityManager view = factory.createEntityManager();
        TransactionSynchronizationManager.bindResource(factory, new EntityManagerHolder(view));
        try {
            request.run();
        } finally {
            TransactionSynchronizationManager.unbindResource(factory);
            view.close();
        }
    }

    /** In another process, so beside the open view. */
    private void formerHolderAdds(long token, int amount) {
        write(token, connection -> {
            try (PreparedStatement update = connection.prepareStatement("UPDATE orders SET amount = amount + ?")) {
                update.setInt(1, amount);
                update.executeUpdate();
            }
        });
    }

    private void addByJpa(int amount) {
        Order order = entities.find(Order.class, 42L);
        order.setAmount(order.amount() + amount);
    }

    final TransactionTemplate transaction(Manager manager) {
        return new TransactionTemplate(
                switch (manager) {
                    case JPA -> shop.getBean(PlatformTransactionManager.class);
                    case JDBC -> new JdbcTransactionManager(dataSource());
                });
    }

    final TransactionGuard guard() {
        return shop.getBean(TransactionGuard.class);
    }

    private DataSource dataSource() {
        return shop.getBean(DataSource.class);
    }

    final SignedSequencer token(long token) {
        return sequencer("orders/42", token);
    }

    private SignedSequencer sequencer(String lock, long token) {
        return keyset.sign(new Sequencer(
                "palisade", new LockName(lock), Mode.EXCLUSIVE, new FencingToken(token), new GrantId(7, token), 0));
    }

    private interface Statements {
        void run(Connection connection) throws SQLException;
    }

    private void write(long token, Statements statements) {
        unchecked(fence -> fence.write(token(token), ORDER, connection -> {
            statements.run(connection);
            return 0;
        }));
    }

    private void claim(long token) {
        unchecked(fence -> fence.claim(token(token), ORDER));
    }

    private interface Use {
        void of(FencedJdbc fenced) throws SQLException;
    }

    private void unchecked(Use use) {
        try {
            use.of(fenced);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    final int amount() {
        Integer amount = jdbc.queryForObject("SELECT amount FROM orders WHERE id = 42", Integer.class);
        return amount == null ? -1 : amount;
    }

    final Mark mark() {
        try {
            return fenced.mark("orders/42");
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void refused(ThrowingCallable call, Reason reason) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(reason));
    }
}
