package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.util.concurrent.locks.LockSupport;

/** Incidents in which a node becomes the primary that lacks data of the former one. */
final class FailoverFaults {
    private static final int BACK_TIMES = 5;

    private FailoverFaults() {}

    /** The primary dies, and the promoted replica lacks its last tokens. */
    static <N extends Node> void laggingReplica(FaultContext<N> context) {
        N former = context.primary();
        N next = context.replica();
        boolean all = context.dice().nextBoolean();
        for (N replica : context.topology().replicas()) {
            if (all || replica == next) {
                context.topology().lag(replica, context.dice().nextBoolean());
            }
        }
        context.note((all ? "all replicas lag" : next + " lags"));
        context.tokens(context.between(5, 40));
        context.note("kill -9 of " + former);
        former.kill9();
        context.failOver(next, context.dice().nextBoolean());
    }

    /** The former primary keeps running, and one application stays connected to it for a while. */
    static void splitBrain(FaultContext<RedisNode> context) {
        splitBrain(context, false);
    }

    /** Also reloads the library of the deposed primary, which loses its variables and would have to begin an epoch. */
    static void splitBrainReloaded(FaultContext<RedisNode> context) {
        splitBrain(context, true);
    }

    private static void splitBrain(FaultContext<RedisNode> context, boolean reload) {
        RedisNode former = context.primary();
        RedisNode next = context.replica();
        context.topology().lag(next, context.dice().nextBoolean());
        context.tokens(context.between(5, 40));
        context.note("promoting " + next + "; " + former + " lives, and the near side stays there");
        context.near().issuer().stopFollowing();
        context.topology().promote(next);
        context.far().issuer().follow(next);
        context.tokensAt(former, context.between(5, 20));
        context.tokensAt(next, context.between(5, 20));
        if (reload) {
            context.note("the library of the deposed " + former + " is loaded again");
            DataLossFaults.replaceLibraries(former);
            context.tokens(context.between(5, 10));
        }
        context.tokens(context.between(10, 30));
        context.note("the near side is told; " + former + " is made a replica");
        context.near().issuer().follow(next);
        context.topology().follow(former, next);
    }

    /** A primary is demoted and promoted again, without the tokens that were issued in between. */
    static void backToTheFormer(FaultContext<RedisNode> context) {
        RedisNode former = context.primary();
        RedisNode next = context.replica();
        context.topology().link(former, next).freeze(Link.Way.values());
        context.failOver(next, false);
        context.tokensAt(next, context.between(5, 40));
        context.failOver(former, true);
    }

    /**
     * Like {@link #backToTheFormer}, but within milliseconds: one application takes a token, its primary is demoted and
     * promoted again, and the application continues. Repeated, because a busy machine may be too slow once.
     */
    static void backAtOnce(FaultContext<RedisNode> context) {
        for (int i = 0; i < BACK_TIMES; i++) {
            RedisNode former = context.primary();
            RedisNode next = context.replica();
            context.note("promoting " + next + "; " + former + " lives, and the near side stays there");
            context.near().issuer().stopFollowing();
            context.topology().promote(next);
            context.far().issuer().follow(next);
            context.tokensAt(next, context.between(5, 10));
            context.topology().link(former, next).freeze(Link.Way.values());
            context.near().withPausedClients(near -> {
                near.acquireOnce();
                demoteAndPromote(context, former);
                for (int one = 0; one < 5; one++) {
                    near.acquireOnce();
                }
            });
            context.note(former + " was demoted and promoted at once");
            context.near().issuer().follow(former);
            context.tokensAt(former, 5);
            context.far().issuer().follow(former);
            context.tokensAt(former, 10);
            context.topology().heal();
        }
    }

    /** Makes a running deposed primary a replica of its successor, and promotes it again immediately. */
    private static void demoteAndPromote(FaultContext<RedisNode> context, RedisNode former) {
        String address = context.topology().link(former, context.primary()).address();
        context.topology().changePrimary(former, () -> former.followAndReturn(address));
    }

    /** A new epoch at the primary, and within one second another one at a replica that lacks the first. */
    static void twoEpochsInOneSecond(FaultContext<RedisNode> context) {
        RedisNode next = context.replica();
        context.topology().lag(next, context.dice().nextBoolean());
        untilASecondBegins();
        context.note("new epochs at " + context.primary() + " and " + next);
        DataLossFaults.replaceLibraries(context.primary());
        context.tokens(5);
        context.failOver(next, true);
        context.tokensAt(next, 20);
    }

    private static void untilASecondBegins() {
        while (System.currentTimeMillis() % 1_000 > 50) {
            LockSupport.parkNanos(2_000_000);
        }
    }
}
