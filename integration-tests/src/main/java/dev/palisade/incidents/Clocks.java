package dev.palisade.incidents;

import java.time.Duration;

/** Incidents in which the wall clock of a Redis is not what it was. */
final class Clocks {
    private static final Duration HOUR = Duration.ofHours(1);

    private Clocks() {}

    static void forward(Scene<RedisNode> scene) {
        step(scene.primary(), HOUR, scene);
        scene.tokens(10);
        anotherEpoch(scene);
    }

    static void back(Scene<RedisNode> scene) {
        step(scene.primary(), HOUR.negated(), scene);
        scene.tokens(10);
        anotherEpoch(scene);
    }

    /** An epoch that began when the clock was ahead; then the clock is right, and a replica takes over that has all data. */
    static void aheadThenPromoted(Scene<RedisNode> scene) {
        ahead(scene);
        RedisNode next = scene.replica();
        scene.topology().awaitReplica(next);
        scene.failOver(next, scene.dice().nextBoolean());
        scene.tokensAt(next, 10);
    }

    /** The same, and then the data is lost and nobody is left who knows a token: what no rule without a second system can mend. */
    static void aheadThenAllLost(Scene<RedisNode> scene) {
        ahead(scene);
        RedisNode primary = scene.primary();
        scene.note("kill -9 of " + primary + ", which keeps nothing");
        scene.anew(true, () -> {
            primary.process().kill9();
            primary.forgetSnapshot();
            primary.restart();
        });
    }

    private static void ahead(Scene<RedisNode> scene) {
        step(scene.primary(), HOUR, scene);
        anotherEpoch(scene);
        step(scene.primary(), Duration.ZERO, scene);
        scene.tokens(10);
    }

    private static void anotherEpoch(Scene<RedisNode> scene) {
        scene.note("the libraries are loaded again");
        Losses.replaceLibraries(scene.primary());
        scene.tokens(10);
    }

    private static void step(RedisNode node, Duration ahead, Scene<RedisNode> scene) {
        scene.note("the clock of " + node + " is " + ahead + " from the machine's");
        node.clock().orElseThrow().step(ahead);
    }
}
