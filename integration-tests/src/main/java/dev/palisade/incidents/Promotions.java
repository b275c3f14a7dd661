package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.concurrent.locks.LockSupport;

/** Incidents in which another node becomes the primary, and knows less than the one before. */
final class Promotions {
    private static final int BACK_TIMES = 5;

    private Promotions() {}

    /** The primary dies, and the replica that takes its place had not heard its last tokens. */
    static <N extends Node> void laggingReplica(Scene<N> scene) {
        N former = scene.primary();
        N next = scene.replica();
        boolean all = scene.dice().nextBoolean();
        for (N replica : scene.topology().replicas()) {
            if (all || replica == next) {
                scene.topology().lag(replica, scene.dice().nextBoolean());
            }
        }
        scene.note((all ? "all replicas lag" : next + " lags"));
        scene.tokens(scene.between(5, 40));
        scene.note("kill -9 of " + former);
        former.kill9();
        scene.failOver(next, scene.dice().nextBoolean());
    }

    /** The same with a primary that lives on, and a side that stays with it for a while. */
    static void splitBrain(Scene<RedisNode> scene) {
        splitBrain(scene, false);
    }

    /** And the deposed primary loses the variables of its library: it would have to begin an epoch. */
    static void splitBrainReloaded(Scene<RedisNode> scene) {
        splitBrain(scene, true);
    }

    private static void splitBrain(Scene<RedisNode> scene, boolean reload) {
        RedisNode former = scene.primary();
        RedisNode next = scene.replica();
        scene.topology().lag(next, scene.dice().nextBoolean());
        scene.tokens(scene.between(5, 40));
        scene.note("promoting " + next + "; " + former + " lives, and the near side stays there");
        scene.near().issuer().cutOff();
        scene.topology().promote(next);
        scene.far().issuer().follow(next);
        scene.tokensAt(former, scene.between(5, 20));
        scene.tokensAt(next, scene.between(5, 20));
        if (reload) {
            scene.note("the library of the deposed " + former + " is loaded again");
            Losses.replaceLibraries(former);
            scene.tokens(scene.between(5, 10));
        }
        scene.tokens(scene.between(10, 30));
        scene.note("the near side is told; " + former + " is made a replica");
        scene.near().issuer().follow(next);
        scene.topology().follow(former, next);
    }

    /** Demoted and promoted again, the same process never heard of the tokens that were issued elsewhere in between. */
    static void backToTheFormer(Scene<RedisNode> scene) {
        RedisNode former = scene.primary();
        RedisNode next = scene.replica();
        scene.topology().link(former, next).freeze(Link.Way.values());
        scene.failOver(next, false);
        scene.tokensAt(next, scene.between(5, 40));
        scene.failOver(former, true);
    }

    /**
     * The same so fast that nothing read of the former primary a moment before holds any more: the near side takes a token there, it is
     * told that it is deposed and taken back at once, and the near side goes on. More than once: a busy machine may need more than a moment.
     */
    static void backAtOnce(Scene<RedisNode> scene) {
        for (int i = 0; i < BACK_TIMES; i++) {
            RedisNode former = scene.primary();
            RedisNode next = scene.replica();
            scene.note("promoting " + next + "; " + former + " lives, and the near side stays there");
            scene.near().issuer().cutOff();
            scene.topology().promote(next);
            scene.far().issuer().follow(next);
            scene.tokensAt(next, scene.between(5, 10));
            scene.topology().link(former, next).freeze(Link.Way.values());
            scene.near().alone(near -> {
                near.takeOne();
                takeBack(scene, former);
                for (int one = 0; one < 5; one++) {
                    near.takeOne();
                }
            });
            scene.note(former + " was demoted and promoted at once");
            scene.near().issuer().follow(former);
            scene.tokensAt(former, 5);
            scene.far().issuer().follow(former);
            scene.tokensAt(former, 10);
            scene.topology().heal();
        }
    }

    /** A deposed primary that still runs is made a replica of its successor and taken back at once. */
    private static void takeBack(Scene<RedisNode> scene, RedisNode former) {
        String address = scene.topology().link(former, scene.primary()).address();
        scene.topology().reign(former, () -> former.followAndReturn(address));
    }

    /** A new epoch at the primary, and another at a replica that did not hear of it, within one second. */
    static void twoEpochsInOneSecond(Scene<RedisNode> scene) {
        RedisNode next = scene.replica();
        scene.topology().lag(next, scene.dice().nextBoolean());
        untilASecondBegins();
        scene.note("new epochs at " + scene.primary() + " and " + next);
        Losses.replaceLibraries(scene.primary());
        scene.tokens(5);
        scene.failOver(next, true);
        scene.tokensAt(next, 20);
    }

    private static void untilASecondBegins() {
        while (System.currentTimeMillis() % 1_000 > 50) {
            LockSupport.parkNanos(2_000_000);
        }
    }
}
