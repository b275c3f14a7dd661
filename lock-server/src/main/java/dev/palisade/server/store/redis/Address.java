package dev.palisade.server.store.redis;

/** Where a Redis or a Sentinel listens. */
record Address(String host, int port) {
    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
