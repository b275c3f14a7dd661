package dev.palisade.guard;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A data source whose connections break in a commit while a test says so, after it took effect or before. */
final class DoubtfulCommits {
    private final DataSource dataSource;

    /** Whether commits that break have taken effect; null: none breaks. */
    volatile @Nullable Boolean takeEffect;

    /** How many commits do not break yet, once they do. */
    final AtomicInteger spared = new AtomicInteger();

    DoubtfulCommits(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    DataSource dataSource() {
        return proxy(DataSource.class, dataSource);
    }

    private <T> T proxy(Class<T> type, Object real) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            Boolean effect = takeEffect;
            if (method.getName().equals("commit") && effect != null && spared.getAndDecrement() <= 0) {
                if (effect) {
                    ((Connection) real).commit();
                }
                throw new SQLException("the connection broke", "08006");
            }
            try {
                Object result = method.invoke(real, args);
                return result instanceof Connection connection ? proxy(Connection.class, connection) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }
}
