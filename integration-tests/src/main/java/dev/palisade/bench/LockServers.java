package dev.palisade.bench;

import dev.palisade.client.PalisadeClient;
import dev.palisade.client.StoreDescription.SharedLog;
import dev.palisade.redis.FreePort;
import dev.palisade.scenario.ScenarioFailed;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Two lock servers of one log: one is active, the other stands by. One thread uses it. */
final class LockServers implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private final ServerProcess[] servers = new ServerProcess[2];
    private final PalisadeClient client;

    /** @param store that servers can share */
    LockServers(Services services, Store store) throws InterruptedException {
        servers[0] = services.newServer(store, atFreePort());
        servers[1] = servers[0].another(atFreePort());
        client = PalisadeClient.builder()
                .servers(addresses())
                .callTimeout(PATIENCE)
                .build();
        awaitStandby();
    }

    private static String[] atFreePort() {
        int port = FreePort.any();
        return new String[] {"--port", Integer.toString(port), "--advertise", "127.0.0.1:" + port};
    }

    /** What a client connects to. */
    String[] addresses() {
        return new String[] {servers[0].address(), servers[1].address()};
    }

    /** Ends the active server, and returns when the other one is active. */
    void takeOver(boolean kill) throws InterruptedException {
        int ended = active();
        if (kill) {
            servers[ended].kill();
        } else {
            servers[ended].terminate();
        }
        await("the standby is active", () -> active() == 1 - ended);
    }

    /** Starts the one anew that has ended, and returns when it stands by. */
    void restart() throws InterruptedException {
        for (ServerProcess server : servers) {
            if (!server.isAlive()) {
                server.restart();
            }
        }
        awaitStandby();
    }

    private void awaitStandby() throws InterruptedException {
        await("one server is active and the other stands by", () -> {
            int active = active();
            return active >= 0
                    && log().stream()
                            .flatMap(log -> log.standbys().stream())
                            .anyMatch(standby -> standby.address().equals(servers[1 - active].address()));
        });
    }

    /** Which one; -1 if that is not known. */
    private int active() throws InterruptedException {
        String active = log().map(SharedLog::active).orElse("");
        return active.equals(servers[0].address()) ? 0 : active.equals(servers[1].address()) ? 1 : -1;
    }

    private Optional<SharedLog> log() throws InterruptedException {
        return client.operations().store().log();
    }

    private interface Condition {
        boolean holds() throws InterruptedException;
    }

    private static void await(String what, Condition condition) throws InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.holds()) {
            if (System.nanoTime() - deadline > 0) {
                throw new ScenarioFailed("not within " + PATIENCE.toSeconds() + " s: " + what);
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    @Override
    public void close() {
        client.close();
        servers[1].close();
        servers[0].close();
    }
}
