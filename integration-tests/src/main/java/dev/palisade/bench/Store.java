package dev.palisade.bench;

/** Where a lock server keeps its locks, and when it answers: each is a contestant. */
enum Store {
    /** In its own data directory; answers when that is on disk. */
    SYNCED("Palisade, synced"),
    /** In its own data directory; answers when the operating system has it, which a kill of the process leaves alone. */
    PROCESS("Palisade, durability=process"),
    /** In Redis. */
    REDIS("Palisade on Redis"),
    /** In the PostgreSQL of {@code --postgres}. */
    POSTGRESQL("Palisade on PostgreSQL");

    private final String contestant;

    Store(String contestant) {
        this.contestant = contestant;
    }

    String contestant() {
        return contestant;
    }

    /** Whether several lock servers can use it. */
    boolean isShared() {
        return this == REDIS || this == POSTGRESQL;
    }
}
