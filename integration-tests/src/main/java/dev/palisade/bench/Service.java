package dev.palisade.bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/** A lock service that runs, and what of it is looked at. One thread uses it; its clients are for all. */
final class Service implements AutoCloseable {
    static final String CLIENT = "client";
    static final String SERVER = "server";
    static final String REDIS = "redis";

    private final String name;
    private final Library library;
    private final String address;
    private final Map<String, LongSupplier> servers;
    private final List<Locks> clients = new ArrayList<>();

    /** @param servers the processor time of each process behind {@code address}, by what it is */
    Service(String name, Library library, String address, Map<String, LongSupplier> servers) {
        this.name = name;
        this.library = library;
        this.address = address;
        this.servers = servers;
    }

    /** As a contestant. */
    String name() {
        return name;
    }

    Library library() {
        return library;
    }

    String address() {
        return address;
    }

    /** The one that all callers of this process share. */
    Locks client() {
        return clients(1).get(0);
    }

    /** As many, each as if it were a process of its own; open until this closes. */
    List<Locks> clients(int count) {
        while (clients.size() < count) {
            clients.add(library.connect(address));
        }
        return List.copyOf(clients.subList(0, count));
    }

    /** The processor time of its processes, and of the one that its callers are in. */
    Map<String, LongSupplier> clocks(long callers) {
        Map<String, LongSupplier> clocks = new LinkedHashMap<>();
        clocks.put(CLIENT, Usage.ofProcess(callers));
        clocks.putAll(servers);
        return clocks;
    }

    /** Closes its clients. */
    @Override
    public void close() {
        clients.forEach(Locks::close);
        clients.clear();
    }
}
