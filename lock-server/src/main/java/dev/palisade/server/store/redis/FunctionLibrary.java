package dev.palisade.server.store.redis;

/**
 * A library of functions for Redis. Its function {@code <name>_version}, called without keys, answers {@code version}.
 *
 * @param name as in the first line of {@code code}
 * @param version rises with every change of {@code code}
 * @param code what FUNCTION LOAD takes, from {@code #!lua name=<name>} on
 */
record FunctionLibrary(String name, long version, String code) {
    String versionFunction() {
        return name + "_version";
    }
}
