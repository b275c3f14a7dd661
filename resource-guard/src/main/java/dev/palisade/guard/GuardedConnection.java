package dev.palisade.guard;

import dev.palisade.guard.FencedJdbc.Work;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The connection as {@link Work} sees it: everything but the ends of the transaction, and whether it was used. Stops accidents,
 * not intent: SQL text and {@code unwrap} still reach the database, and {@link Fence#confirm} comes after.
 */
final class GuardedConnection {
    private static final Set<String> REFUSED =
            Set.of("commit", "close", "abort", "setAutoCommit", "setTransactionIsolation", "setReadOnly");

    private static final Set<String> USES = Set.of("createStatement", "prepareStatement", "prepareCall", "unwrap");

    private final Connection connection;
    private final Connection proxy;
    // Work may pass the connection to a thread of its own.
    private final AtomicBoolean used = new AtomicBoolean();

    GuardedConnection(Connection connection) {
        this.connection = connection;
        this.proxy = (Connection) Proxy.newProxyInstance(
                GuardedConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                (self, method, arguments) -> call(method, arguments));
    }

    Connection proxy() {
        return proxy;
    }

    /** Whether a statement was made on it, or the driver's own connection was taken out of it. */
    boolean wasUsed() {
        return used.get();
    }

    private Object call(Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        boolean wholeRollback = name.equals("rollback") && method.getParameterCount() == 0;
        if (REFUSED.contains(name) || wholeRollback) {
            throw new SQLException(
                    "Connection." + name + " inside guarded work: the guard ends the transaction; return, or throw to"
                            + " roll back",
                    "25000");
        }
        if (USES.contains(name)) {
            used.set(true);
        }
        try {
            return method.invoke(connection, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
