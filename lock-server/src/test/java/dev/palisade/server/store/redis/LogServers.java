package dev.palisade.server.store.redis;

import static org.awaitility.Awaitility.await;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Lock servers over one log, which are closed together. */
final class LogServers implements AutoCloseable {
    private final Supplier<String> uri;
    private final List<SharedLogStore> servers = new ArrayList<>();

    /** @param uri asked for with each server */
    LogServers(Supplier<String> uri) {
        this.uri = uri;
    }

    SharedLogStore server(String address, RedisLogConfig.Start start, boolean resumes) throws Exception {
        SharedLogStore server = new SharedLogStore(uri.get(), address, start, resumes);
        servers.add(server);
        return server;
    }

    /** The first one, of a new log. */
    SharedLogStore active(boolean resumes) throws Exception {
        SharedLogStore server = server("a:1", RedisLogConfig.Start.NEW, resumes);
        await().until(server::isActive);
        return server;
    }

    SharedLogStore standby(boolean resumes) throws Exception {
        return server("b:1", RedisLogConfig.Start.CAREFUL, resumes);
    }

    @Override
    public void close() {
        servers.forEach(SharedLogStore::close);
    }
}
