package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * Context of one injected incident: nodes, application processes, and a random generator of its own, so that a seed
 * reproduces it. One thread uses it.
 */
record FaultContext<N extends Node>(
        Topology<N> topology, AppProcess near, AppProcess far, TokenLog tokenLog, Random dice, Duration timeout) {
    List<AppProcess> apps() {
        return List.of(near, far);
    }

    N primary() {
        return topology.primary();
    }

    /** A random replica. */
    N replica() {
        List<N> replicas = topology.replicas();
        return replicas.get(dice.nextInt(replicas.size()));
    }

    void note(String what) {
        tokenLog.note(what);
    }

    /** Waits for {@code count} more tokens, or for the timeout: the store may be unable to issue any. */
    boolean tokens(int count) {
        long enough = tokenLog.count(any -> true) + count;
        return Polling.within(timeout, () -> tokenLog.count(any -> true) >= enough);
    }

    boolean tokensAt(Node node, int count) {
        long enough = tokenLog.count(one -> one.node().equals(node.name())) + count;
        return Polling.within(timeout, () -> tokenLog.count(one -> one.node().equals(node.name())) >= enough);
    }

    int between(int least, int most) {
        return least + dice.nextInt(most - least + 1);
    }

    /**
     * Runs an action while both applications are down; they restart without memory.
     *
     * @param down false: they keep running
     */
    void restartApps(boolean down, Runnable meanwhile) {
        if (down) {
            note("both sides start anew");
            apps().forEach(AppProcess::stop);
        }
        meanwhile.run();
        if (down) {
            apps().forEach(AppProcess::start);
        }
    }

    /**
     * Promotes a replica; the other replicas and both applications follow it.
     *
     * @param restarts whether the applications restart
     */
    void failOver(N next, boolean restarts) {
        note("promoting " + next);
        restartApps(restarts, () -> {
            topology.promote(next);
            for (N other : topology.replicas()) {
                if (other.isAlive()) {
                    topology.follow(other, next);
                }
            }
        });
        apps().forEach(app -> app.issuer().follow(next));
    }
}
