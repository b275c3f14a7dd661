package dev.palisade.guard;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A data source that throws what is no SQLException while a test says so, as pools and drivers do. */
final class FailingSource {
    private final DataSource dataSource;

    /** What each attempt to connect throws; null: none. */
    volatile @Nullable Throwable failure;

    final AtomicInteger failures = new AtomicInteger();

    FailingSource(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    DataSource dataSource() {
        return (DataSource) Proxy.newProxyInstance(
                DataSource.class.getClassLoader(), new Class<?>[] {DataSource.class}, (self, method, args) -> {
                    Throwable thrown = failure;
                    if (thrown != null) {
                        failures.incrementAndGet();
                        throw thrown;
                    }
                    try {
                        return method.invoke(dataSource, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
