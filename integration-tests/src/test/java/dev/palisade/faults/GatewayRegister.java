package dev.palisade.faults;

import dev.palisade.check.Marks.Mark;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Map;

/** Register of several gateways, as a fault run sees it from outside. */
interface GatewayRegister extends AutoCloseable {
    /** In Redis with {@code -Dpalisade.fault.register=redis}, else in PostgreSQL. */
    static GatewayRegister asAsked() throws IOException {
        return "redis".equals(System.getProperty("palisade.fault.register"))
                ? new GatewayRegisterInRedis()
                : new GatewayRegisterInPostgres();
    }

    /** Lines of the gateways' file below {@code register}. */
    String yaml();

    /** By resource. */
    Map<String, Mark> marks() throws SQLException;

    long guards();

    /** How many entries are quarantined. */
    long quarantined();

    @Override
    void close();
}
