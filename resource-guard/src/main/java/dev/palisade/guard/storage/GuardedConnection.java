package dev.palisade.guard.storage;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;

/**
 * The connection as {@link Work} sees it: everything but the ends of the transaction. Stops accidents, not intent: SQL text
 * and {@code unwrap} still reach the database, and {@link Fence#confirm} comes after.
 */
final class GuardedConnection {
    private static final Set<String> REFUSED =
            Set.of("commit", "close", "abort", "setAutoCommit", "setTransactionIsolation", "setReadOnly");

    private GuardedConnection() {}

    static Connection over(Connection connection) {
        return (Connection) Proxy.newProxyInstance(
                GuardedConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (proxy, method, arguments) -> call(connection, method, arguments));
    }

    private static Object call(Connection connection, Method method, Object[] arguments) throws Throwable {
        boolean wholeRollback = method.getName().equals("rollback") && method.getParameterCount() == 0;
        if (REFUSED.contains(method.getName()) || wholeRollback) {
            throw new SQLException(
                    "Connection." + method.getName()
                            + " inside guarded work: the guard ends the transaction; return, or"
                            + " throw to roll back",
                    "25000");
        }
        try {
            return method.invoke(connection, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
