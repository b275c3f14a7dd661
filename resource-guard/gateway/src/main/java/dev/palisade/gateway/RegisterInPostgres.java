package dev.palisade.gateway;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.palisade.guard.MarkStore;
import java.time.Duration;

/** A register in PostgreSQL, and a pool of connections to it, which connects later. */
final class RegisterInPostgres implements OpenRegister {
    /** As many as a guard uses at a time, and one on which it is notified. */
    private static final int CONNECTIONS = 6;

    private static final long CONNECT_MILLIS_MAX = 5_000;

    private final HikariDataSource pool;
    private final Duration lease;

    RegisterInPostgres(String jdbcUrl, String user, String password, Duration lease) {
        this.lease = lease;
        HikariConfig config = new HikariConfig();
        config.setPoolName("palisade-gateway");
        config.setJdbcUrl(jdbcUrl);
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(CONNECTIONS);
        config.setConnectionTimeout(CONNECT_MILLIS_MAX);
        config.setInitializationFailTimeout(-1);
        // The pool opens one connection at a time: one that freezes at its login would keep all others out.
        String seconds = Long.toString(Math.max(1, Math.min(lease.toSeconds() / 2, CONNECT_MILLIS_MAX / 1000)));
        config.addDataSourceProperty("connectTimeout", seconds);
        config.addDataSourceProperty("socketTimeout", seconds);
        pool = new HikariDataSource(config);
    }

    @Override
    public MarkStore marks() {
        return MarkStore.shared(pool, lease, pool);
    }

    @Override
    public void createNeverUsed() {
        MarkStore.createTables(pool);
        MarkStore.createNeverUsed(pool);
    }

    @Override
    public void close() {
        pool.close();
    }
}
