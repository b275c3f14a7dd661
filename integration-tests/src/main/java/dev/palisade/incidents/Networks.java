package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Incidents between the applications and a primary that is well. */
final class Networks {
    private Networks() {}

    static void publishedIsLost(Scene<RedisNode> scene) {
        for (int i = 0; i < 5; i++) {
            scene.note(scene.primary().process().ask("CLIENT", "KILL", "TYPE", "pubsub") + " subscriptions are cut");
            scene.tokens(5);
        }
    }

    static void frozen(Scene<?> scene) {
        Side side = scene.dice().nextBoolean() ? scene.near() : scene.far();
        Link link = side.link(scene.primary());
        scene.note("the link of side " + side.name() + " stands still");
        if (scene.dice().nextBoolean()) {
            link.freeze(Link.Way.ONWARD, Link.Way.BACK);
        } else {
            link.freeze(Link.Way.BACK);
        }
        pass(RedisLine.TIMEOUT.plusMillis(scene.between(100, 400)));
        link.thaw();
    }

    /** What was asked is done, and its answer never comes. */
    static void repliesLost(Scene<?> scene) {
        for (Side side : scene.sides()) {
            for (int i = 0; i < 3; i++) {
                Link link = side.link(scene.primary());
                scene.note("replies to side " + side.name() + " are lost");
                link.freeze(Link.Way.BACK);
                pass(Duration.ofMillis(scene.between(10, 40)));
                link.cut();
                link.thaw();
                scene.tokens(5);
            }
        }
    }

    static void pass(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }
}
