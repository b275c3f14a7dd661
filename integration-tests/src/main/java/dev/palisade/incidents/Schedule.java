package dev.palisade.incidents;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;

/** Which incidents come when, chosen by a seed alone: all kinds once in an order of the seed's choice, and again. One thread uses it. */
final class Schedule<K> {
    private final Random random;
    private final List<K> kinds;
    private final Deque<K> deck = new ArrayDeque<>();
    private int number;

    Schedule(long seed, List<K> kinds) {
        this.random = new Random(seed);
        this.kinds = List.copyOf(kinds);
    }

    /**
     * One incident.
     *
     * @param number from 1
     * @param afterTokens so many tokens are taken before it happens
     * @param dice chooses how it happens
     */
    record Planned<K>(int number, K kind, int afterTokens, long dice) {}

    Planned<K> next() {
        if (deck.isEmpty()) {
            List<K> round = new ArrayList<>(kinds);
            Collections.shuffle(round, random);
            deck.addAll(round);
        }
        return new Planned<>(++number, deck.remove(), 5 + random.nextInt(26), random.nextLong());
    }
}
