package dev.palisade.incidents;

import java.time.Duration;
import java.util.List;
import java.util.Random;

/**
 * What an incident acts on: the nodes, the applications on both sides, and dice of its own, so that the same seed throws the same.
 * One thread uses it.
 */
record Scene<N extends Node>(Topology<N> topology, Side near, Side far, Ledger ledger, Random dice, Duration patience) {
    List<Side> sides() {
        return List.of(near, far);
    }

    N primary() {
        return topology.primary();
    }

    /** One of the replicas, by the dice. */
    N replica() {
        List<N> replicas = topology.replicas();
        return replicas.get(dice.nextInt(replicas.size()));
    }

    void note(String what) {
        ledger.note(what);
    }

    /** Waits until {@code count} more tokens have been answered, or patience has ended: nobody may be able to take any. */
    boolean tokens(int count) {
        long enough = ledger.count(any -> true) + count;
        return Waiting.within(patience, () -> ledger.count(any -> true) >= enough);
    }

    boolean tokensAt(Node node, int count) {
        long enough = ledger.count(one -> one.node().equals(node.name())) + count;
        return Waiting.within(patience, () -> ledger.count(one -> one.node().equals(node.name())) >= enough);
    }

    int between(int least, int most) {
        return least + dice.nextInt(most - least + 1);
    }

    /**
     * Does something while both sides are down, which then start and know nothing.
     *
     * @param down false: they stay up
     */
    void anew(boolean down, Runnable meanwhile) {
        if (down) {
            note("both sides start anew");
            sides().forEach(Side::stop);
        }
        meanwhile.run();
        if (down) {
            sides().forEach(Side::start);
        }
    }

    /**
     * A replica becomes the primary, the others follow it, and so do both sides.
     *
     * @param anew whether the sides know nothing afterwards
     */
    void failOver(N next, boolean anew) {
        note("promoting " + next);
        anew(anew, () -> {
            topology.promote(next);
            for (N other : topology.replicas()) {
                if (other.isAlive()) {
                    topology.follow(other, next);
                }
            }
        });
        sides().forEach(side -> side.issuer().follow(next));
    }
}
