package dev.palisade.guard;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.LinkedHashSet;
import java.util.Set;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Detector of transactions that Spring manages on the calling thread. {@link OwnTransaction} asks it, because a transaction
 * beside Spring's guards no statement of Spring's, and a connection that Spring shares would be committed by us. Asks by
 * reflection and by class names: the guard does not depend on Spring. Immutable.
 */
final class SpringTransactions {
    private static final String MANAGER = "org.springframework.transaction.support.TransactionSynchronizationManager";
    private static final String TRANSACTION_AWARE =
            "org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy";

    /** {@code isActualTransactionActive} of each Spring that was found: none, or one for each class loader that has its own. */
    private final Set<Method> isActive;

    private SpringTransactions(Set<Method> isActive) {
        this.isActive = isActive;
    }

    /** Looks for Spring where the calling thread, the data source and this library look for classes. */
    static SpringTransactions seenFrom(DataSource dataSource) {
        Set<Method> found = new LinkedHashSet<>();
        add(Thread.currentThread().getContextClassLoader(), found);
        add(dataSource.getClass().getClassLoader(), found);
        add(SpringTransactions.class.getClassLoader(), found);
        return new SpringTransactions(found);
    }

    private static void add(@Nullable ClassLoader loader, Set<Method> found) {
        try {
            found.add(Class.forName(MANAGER, false, loader).getMethod("isActualTransactionActive"));
        } catch (ClassNotFoundException | LinkageError e) {
            // No Spring there, so none of its transactions either.
        } catch (NoSuchMethodException e) {
            throw cannotAsk(e);
        }
    }

    /** @throws IllegalStateException when a transaction of Spring's is active on this thread */
    void requireNone(String resource) {
        for (Method method : isActive) {
            boolean active;
            try {
                active = Boolean.TRUE.equals(method.invoke(null));
            } catch (IllegalAccessException | InvocationTargetException e) {
                throw cannotAsk(e);
            }
            if (active) {
                throw new IllegalStateException("FencedJdbc on '" + resource
                        + "': a Spring transaction is active on this thread, and a transaction of the guard's own would not"
                        + " cover its statements; nothing was done: call FencedJdbc.check first in that transaction, or"
                        + " leave it (Propagation.NOT_SUPPORTED)");
            }
        }
    }

    /** @throws IllegalStateException when {@code connection} is one that Spring may share with the rest of the thread */
    static void requireUnshared(Connection connection) {
        if (Proxy.isProxyClass(connection.getClass())
                && Proxy.getInvocationHandler(connection).getClass().getName().startsWith(TRANSACTION_AWARE)) {
            throw new IllegalStateException("FencedJdbc cannot use a TransactionAwareDataSourceProxy: it would commit"
                    + " Spring's transaction; pass the data source behind it (getTargetDataSource())");
        }
    }

    private static IllegalStateException cannotAsk(Exception cause) {
        return new IllegalStateException(
                "Spring is on the class path, but " + MANAGER + ".isActualTransactionActive() cannot be called;"
                        + " FencedJdbc cannot tell whether a transaction is active",
                cause);
    }
}
