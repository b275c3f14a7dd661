package dev.palisade.guard;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.jspecify.annotations.NullUnmarked;

/** A data source whose connections and commits break now and then. */
@NullUnmarked
final class BrokenCommits {
    private BrokenCommits() {}

    /** Connections that are refused now and then, and commits that are slow, or break before or after their effect. */
    static DataSource of(DataSource real, Random random) {
        AtomicInteger connections = new AtomicInteger();
        return proxy(DataSource.class, real, (method, result) -> {
            boolean first = connections.getAndIncrement() == 0; // To open the store.
            if (!first && chance(random, 5)) {
                ((Connection) result).close();
                throw new SQLException("no connection", "08001");
            }
            return first ? result : brokenCommits((Connection) result, random);
        });
    }

    private interface After {
        Object of(String method, Object result) throws SQLException;
    }

    private static Connection brokenCommits(Connection real, Random random) {
        return (Connection) Proxy.newProxyInstance(
                Connection.class.getClassLoader(), new Class<?>[] {Connection.class}, (self, method, args) -> {
                    boolean commits = method.getName().equals("commit");
                    if (commits) {
                        synchronized (random) {
                            LockSupport.parkNanos(random.nextInt(2_000_000));
                        }
                        if (chance(random, 5)) {
                            throw new SQLException("broke before the commit", "08006");
                        }
                    }
                    Object result = invoke(method, real, args);
                    if (commits && chance(random, 5)) {
                        throw new SQLException("broke after the commit", "08006");
                    }
                    return result;
                });
    }

    private static <T> T proxy(Class<T> type, Object real, After after) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (self, method, args) -> after.of(method.getName(), invoke(method, real, args))));
    }

    private static Object invoke(java.lang.reflect.Method method, Object on, Object[] args) throws Throwable {
        try {
            return method.invoke(on, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static boolean chance(Random random, int percent) {
        return random.nextInt(100) < percent;
    }
}
