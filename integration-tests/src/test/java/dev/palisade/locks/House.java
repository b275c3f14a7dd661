package dev.palisade.locks;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.LockDescription;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;

/** A lock server, an object storage, actors, and an onlooker that asks the server who holds what. */
final class House implements AutoCloseable {
    static final Duration PATIENCE = Duration.ofMinutes(2);

    private final Installation installation = Installation.fresh();
    private final List<Child> children = new ArrayList<>();
    private final Service objects;
    private final PalisadeClient onlooker;
    private Service server;

    House() {
        server = installation.server();
        objects = installation.objects();
        onlooker = PalisadeClient.builder()
                .servers(server.address())
                .owner("onlooker")
                .build();
    }

    Child actor(String name) {
        Child actor = installation.actor(name, server, objects);
        children.add(actor);
        return actor;
    }

    void killServer() {
        server.child().kill();
    }

    /** SIGTERM; returns the exit code. */
    int stopServer() {
        return server.child().terminate();
    }

    /** On the same port and data directory. */
    void restartServer() {
        server = installation.server("--port", server.port());
    }

    String serverAddress() {
        return server.address();
    }

    LockDescription describe(String lock) throws InterruptedException {
        return onlooker.describe(lock);
    }

    /** Asks for the lock and returns when the server has the actor in its queue at {@code place}. */
    void queue(Child actor, String lock, long ttlMillis, int place) {
        queue(actor, "acquire", lock, ttlMillis, place);
    }

    /** {@link #queue(Child, String, long, int)} by another verb of the actor's. */
    void queue(Child actor, String verb, String lock, long ttlMillis, int place) {
        actor.send(verb + " " + lock + " " + ttlMillis + " 60000");
        Awaitility.await()
                .atMost(PATIENCE)
                .ignoreException(LockUnavailableException.class)
                .until(() -> {
                    LockDescription now = describe(lock);
                    return now.waiters().size() >= place
                            && now.waiters().get(place - 1).owner().equals(actor.name());
                });
    }

    /** Acquires a free lock. */
    static long acquire(Child actor, String lock, long ttlMillis) {
        return token(actor.ask("acquire " + lock + " " + ttlMillis + " 0"));
    }

    /** Waits for a grant that was asked for before. */
    static long awaitGrant(Child actor) {
        return token(actor.await(line -> line.startsWith("granted ") || line.startsWith("not-granted "), PATIENCE));
    }

    private static long token(String line) {
        assertThat(line).startsWith("granted ");
        return Long.parseLong(line.substring("granted ".length()));
    }

    @Override
    public void close() {
        onlooker.close();
        children.forEach(Child::close);
        objects.child().kill();
        server.child().kill();
        installation.close();
    }
}
