package dev.palisade.incidents;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;

/** Incidents in which the process of the primary ends and restarts with less data, before any promotion. */
final class CrashFaults {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private CrashFaults() {}

    static void withoutPersistence(FaultContext<RedisNode> context) {
        RedisNode primary = context.primary();
        context.note("kill -9 of " + primary + ", which keeps nothing");
        primary.process().kill9();
        primary.deleteSnapshot();
        restart(context, primary);
    }

    static void withSnapshot(FaultContext<RedisNode> context) {
        RedisNode primary = context.primary();
        primary.save();
        context.tokens(context.between(5, 30));
        context.note("kill -9 of " + primary + ", which has a snapshot");
        primary.process().kill9();
        restart(context, primary);
    }

    /** The disk is slower than the clients, so buffered writes are lost with the process. */
    static void withAppendOnlyFileOnSlowDisk(FaultContext<RedisNode> context) {
        RedisNode primary = context.primary();
        appendOnly(primary);
        primary.disk().orElseThrow().delaySyncs(Duration.ofMillis(1_800));
        Polling.within(TIMEOUT, () -> number(primary, "aof_pending_bio_fsync") > 0);
        context.tokens(context.between(20, 60));
        context.note("kill -9 of " + primary + " with " + primary.process().info("aof_buffer_length")
                + " bytes that wait for its disk");
        primary.process().kill9();
        restart(context, primary);
    }

    static void lossOfPower(FaultContext<RedisNode> context) {
        RedisNode primary = context.primary();
        appendOnly(primary);
        if (context.dice().nextBoolean()) {
            primary.disk().orElseThrow().delaySyncs(Duration.ofMillis(300));
        }
        context.tokens(context.between(20, 60));
        context.note(primary + " loses its power");
        primary.process().kill9();
        long lost = primary.disk().orElseThrow().losePower(primary.process().folder());
        context.note(lost + " bytes are lost");
        restart(context, primary);
    }

    static void oldBackupRestored(FaultContext<RedisNode> context) {
        RedisNode primary = context.primary();
        primary.save();
        Path kept = primary.process().folder().resolve("backup");
        copy(primary.snapshot(), kept);
        context.tokens(context.between(10, 50));
        context.note("an old backup is restored at " + primary);
        primary.process().stop();
        copy(kept, primary.snapshot());
        restart(context, primary);
    }

    /** Restarts the primary, and at random the applications too, which then have no memory of the newest tokens. */
    private static void restart(FaultContext<RedisNode> context, RedisNode primary) {
        context.restartApps(context.dice().nextBoolean(), primary::restart);
    }

    private static void appendOnly(RedisNode node) {
        node.persist("appendonly", "yes");
        Polling.until(
                "the append-only file of " + node + " is there",
                TIMEOUT,
                () -> number(node, "aof_rewrite_in_progress") == 0 && number(node, "aof_enabled") == 1);
    }

    private static long number(RedisNode node, String name) {
        return Long.parseLong(node.process().info(name));
    }

    private static void copy(Path from, Path to) {
        try {
            Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
