package dev.palisade.incidents;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;

/** Incidents in which the primary's process ends and comes back with less than it had, before anybody else is promoted. */
final class Crashes {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private Crashes() {}

    static void withoutPersistence(Scene<RedisNode> scene) {
        RedisNode primary = scene.primary();
        scene.note("kill -9 of " + primary + ", which keeps nothing");
        primary.process().kill9();
        primary.forgetSnapshot();
        comeBack(scene, primary);
    }

    static void withSnapshot(Scene<RedisNode> scene) {
        RedisNode primary = scene.primary();
        primary.save();
        scene.tokens(scene.between(5, 30));
        scene.note("kill -9 of " + primary + ", which has a snapshot");
        primary.process().kill9();
        comeBack(scene, primary);
    }

    /** A disk that is slower than its users: what was written waits in the process, and dies with it. */
    static void withAppendOnlyFileOnSlowDisk(Scene<RedisNode> scene) {
        RedisNode primary = scene.primary();
        appendOnly(primary);
        primary.disk().orElseThrow().delaySyncs(Duration.ofMillis(1_800));
        Waiting.within(PATIENCE, () -> number(primary, "aof_pending_bio_fsync") > 0);
        scene.tokens(scene.between(20, 60));
        scene.note("kill -9 of " + primary + " with " + primary.process().info("aof_buffer_length")
                + " bytes that wait for its disk");
        primary.process().kill9();
        comeBack(scene, primary);
    }

    static void lossOfPower(Scene<RedisNode> scene) {
        RedisNode primary = scene.primary();
        appendOnly(primary);
        if (scene.dice().nextBoolean()) {
            primary.disk().orElseThrow().delaySyncs(Duration.ofMillis(300));
        }
        scene.tokens(scene.between(20, 60));
        scene.note(primary + " loses its power");
        primary.process().kill9();
        long lost = primary.disk().orElseThrow().losePower(primary.process().folder());
        scene.note(lost + " bytes are lost");
        comeBack(scene, primary);
    }

    static void oldBackupRestored(Scene<RedisNode> scene) {
        RedisNode primary = scene.primary();
        primary.save();
        Path kept = primary.process().folder().resolve("backup");
        copy(primary.snapshot(), kept);
        scene.tokens(scene.between(10, 50));
        scene.note("an old backup is restored at " + primary);
        primary.process().stop();
        copy(kept, primary.snapshot());
        comeBack(scene, primary);
    }

    /** And, by the dice, the applications with it: then nobody is left who knows the newest tokens. */
    private static void comeBack(Scene<RedisNode> scene, RedisNode primary) {
        scene.anew(scene.dice().nextBoolean(), primary::restart);
    }

    private static void appendOnly(RedisNode node) {
        node.persist("appendonly", "yes");
        Waiting.until(
                "the append-only file of " + node + " is there",
                PATIENCE,
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
