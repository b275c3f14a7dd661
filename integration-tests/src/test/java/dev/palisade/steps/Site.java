package dev.palisade.steps;

import dev.palisade.check.Marks;
import dev.palisade.check.Marks.Mark;
import dev.palisade.faults.Link;
import dev.palisade.guard.MarkStore;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.sql.DataSource;

/**
 * Gateways with one register in a database of their own. Each reaches the database through a {@link PostgresRelay} and the
 * service through a {@link Link}.
 */
final class Site implements AutoCloseable {
    static final Duration LEASE = Duration.ofSeconds(2);

    /** The promise: no call is applied later than this after its outcome became unknown, or its gateway was killed. */
    static final Duration DELTA = Duration.ofSeconds(2);

    /** A gateway refuses with DRAINING what waited so long. */
    static final Duration LOCK_WAIT = Duration.ofSeconds(20);

    /** One gateway, and the ways between it and everything else. */
    static final class Gateway {
        final PostgresRelay relay;
        final Link link;
        volatile Service service;

        private Gateway(PostgresRelay relay, Link link, Service service) {
            this.relay = relay;
            this.link = link;
            this.service = service;
        }

        int port() {
            return Integer.parseInt(service.port());
        }

        Child process() {
            return service.child();
        }
    }

    final List<Gateway> gateways;
    private final Lab lab;
    private final String name;
    private final boolean takesOver;
    private final List<List<String>> commands;
    private final DataSource database;
    private final List<Marks> marks = new ArrayList<>();

    /** @param commands one for each gateway, without its arguments */
    Site(Lab lab, boolean takesOver, List<List<String>> commands) {
        this.lab = lab;
        this.name = lab.name("site");
        this.takesOver = takesOver;
        this.commands = commands;
        execute(lab.postgres.getPostgresDatabase(), "CREATE DATABASE " + name);
        database = lab.postgres.getDatabase("postgres", name);
        MarkStore.createTables(database);
        MarkStore.createNeverUsed(database);
        gateways = IntStream.range(0, commands.size())
                .parallel()
                .mapToObj(index -> {
                    PostgresRelay relay = new PostgresRelay(lab.postgres.getPort());
                    Link link = new Link(lab.backend.address(), Link.Deaths.TOLD);
                    return new Gateway(relay, link, start(index, relay, link));
                })
                .toList();
    }

    /** The name of an object, and of its lock, that was not used before. */
    String key() {
        return lab.name(name + "-key");
    }

    /** What is wrong with all that happened here. */
    List<String> violations() {
        return lab.run(name + "-", marks).violations();
    }

    /** Keeps the marks as they are now, for the checkers. */
    void noteMarks() {
        marks.add(marks("round " + (marks.size() + 1)));
    }

    private Service start(int index, PostgresRelay relay, Link link) {
        String lines = "listen: 127.0.0.1:0\nprotects: " + name + "\nkeyset: keys/sequencers.json\nlock-servers: "
                + lab.lockServer.address() + "\npass-sequencer: true\nlock-wait: " + LOCK_WAIT.toMillis()
                + "ms\nunknown-outcome-timeout: " + DELTA.toMillis() + "ms\nregister:\n  jdbc-url: "
                + "jdbc:postgresql://127.0.0.1:" + relay.port() + "/" + name + "?sslmode=disable&gssEncMode=disable"
                + "\n  user: postgres\n  lease: " + LEASE.toMillis() + "ms\n  take-over-after-lease: " + takesOver
                + "\nupstream:\n  addresses: " + link.address() + "\n  idle-timeout: " + DELTA.toMillis()
                + "ms\nroutes:\n  - path: /objects/{key}\n    methods: GET\n    access: read\n    lock: '{key}'\n"
                + "  - path: /objects/{key}\n    lock: '{key}'\n";
        try {
            Path config = Files.writeString(lab.installation.home().resolve(name + "-" + index + ".yaml"), lines);
            List<String> whole = new ArrayList<>(commands.get(index));
            whole.addAll(List.of("--config", config.toString()));
            return Service.of(Child.start(
                    name + " gateway " + index,
                    whole,
                    Map.of("PALISADE_HOME", lab.installation.home().toString())));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Another process in the place of one that has ended. */
    void restart(Gateway gateway) {
        gateway.service = start(gateways.indexOf(gateway), gateway.relay, gateway.link);
    }

    /** Identity of a gateway's guard in the register; empty: it has none there. */
    String guard(Gateway gateway) {
        return text("SELECT id FROM palisade_register_guards WHERE owner LIKE '% pid "
                + gateway.process().pid() + "%'");
    }

    /** How many calls of {@code key} are registered. */
    long registered(String key) {
        return Long.parseLong(text("SELECT COUNT(*) FROM palisade_register_calls WHERE resource = '" + key + "'"));
    }

    /** How many calls of {@code key} that guard has registered. */
    long registered(String key, String guard) {
        return Long.parseLong(text("SELECT COUNT(*) FROM palisade_register_calls WHERE resource = '" + key
                + "' AND guard = '" + guard + "'"));
    }

    /** Whether the mark of {@code key} has that token. */
    boolean hasRaised(String key, long token) {
        return text("SELECT x_token FROM palisade_marks WHERE resource = '" + key + "'")
                .equals(Long.toString(token));
    }

    boolean takesOver() {
        return takesOver;
    }

    /** What the operator does when a gateway's process has ended, and &#916; later. */
    void endEntries(String guard) {
        execute(database, "DELETE FROM palisade_register_guards WHERE id = '" + guard + "'");
    }

    /** Whether the lease of that guard has ended already. */
    boolean hasMissedRenewals(String guard) {
        return text("SELECT renewed_at_millis < " + (System.currentTimeMillis() - LEASE.toMillis())
                        + " FROM palisade_register_guards WHERE id = '" + guard + "'")
                .equals("t");
    }

    boolean isRegistered(String guard) {
        return text("SELECT COUNT(*) FROM palisade_register_guards WHERE id = '" + guard + "'")
                .equals("1");
    }

    private Marks marks(String when) {
        Map<String, Mark> found = new HashMap<>();
        try (Connection connection = database.getConnection();
                PreparedStatement select = connection.prepareStatement(
                        "SELECT resource, x_token, x_grant, s_token FROM palisade_marks WHERE lock_name <> ''");
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                found.put(row.getString(1), new Mark(row.getLong(2), row.getString(3), row.getLong(4)));
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        return new Marks(when, found);
    }

    private String text(String sql) {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "";
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void execute(DataSource database, String sql) {
        try (Connection connection = database.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        for (Gateway gateway : gateways) {
            gateway.process().close();
            gateway.relay.close();
            gateway.link.close();
        }
    }
}
