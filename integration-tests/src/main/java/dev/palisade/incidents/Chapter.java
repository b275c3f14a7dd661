package dev.palisade.incidents;

import dev.palisade.scenario.History;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * New processes of a store, two applications that take tokens, and the incidents that happen to them one after the other. What is found is
 * judged over the whole chapter. One thread uses it.
 */
final class Chapter<N extends Node> implements AutoCloseable {
    private static final int AFTERWARDS = 15;
    private static final Duration RECOVERED = Duration.ofSeconds(60);
    /** 2024-01-01T00:00Z, from which tokens of a lock server count. */
    private static final long ERA_MILLIS = 1_704_067_200_000L;

    private static final long TOKENS_PER_MILLI = 4_096;

    private final Subject subject;
    private final Topology<N> topology;
    private final Ledger ledger;
    private final Side near;
    private final Side far;
    private final Map<Integer, Incident<N>> happened = new HashMap<>();

    Chapter(StoreUnderTest<N> store, Subject subject, History file) {
        this.subject = subject;
        this.ledger = new Ledger(file);
        this.topology = store.topology().get();
        this.near = new Side("near", topology, subject.maker());
        this.far = new Side("far", topology, subject.maker());
    }

    void happen(Schedule.Planned<Incident<N>> planned) {
        happened.put(planned.number(), planned.kind());
        ledger.begin(planned.number(), planned.kind().name());
        if (happened.size() == 1) {
            List.of(near, far).forEach(side -> side.take(ledger));
        }
        Scene<N> scene = new Scene<>(topology, near, far, ledger, new Random(planned.dice()), subject.patience());
        scene.tokens(planned.afterTokens());
        planned.kind().happen(scene);
        scene.tokens(AFTERWARDS);
        ledger.note("healing");
        topology.heal();
        scene.sides().forEach(Side::heal);
        long before = ledger.count(any -> true);
        if (!scene.tokens(AFTERWARDS) && subject.ours()) {
            // A store that issues no tokens any more has no fault in its tokens.
            Waiting.until(
                    subject.name() + " issues a token after incident " + planned.number() + " (" + planned.kind()
                            + "), which is repaired",
                    RECOVERED,
                    () -> ledger.count(any -> true) > before);
        }
    }

    int length() {
        return happened.size();
    }

    /**
     * Whether a token is ahead of the clock: a step of a clock, or losses that came fast, leave that. No rule promises anything if all is
     * lost before the clock has passed them, so that a new chapter has to begin.
     */
    boolean tokensAreAhead() {
        long clock = (System.currentTimeMillis() - ERA_MILLIS) * TOKENS_PER_MILLI;
        return subject.ours() && ledger.issued().stream().anyMatch(issued -> issued.token() > clock);
    }

    /**
     * Whether a fault was excused: tokens that no rule promises anything about are on record, and later ones must not be compared with
     * them, so that a new chapter has to begin.
     */
    boolean hasExcused() {
        return judged().faults().keySet().stream().anyMatch(this::leftOver);
    }

    /** What is at fault up to now, in words. */
    List<String> faults() {
        return judged().faults().entrySet().stream()
                .filter(fault -> !leftOver(fault.getKey()))
                .flatMap(fault -> fault.getValue().stream()
                        .map(words ->
                                "incident " + fault.getKey() + ", " + happened.get(fault.getKey()) + ": " + words))
                .toList();
    }

    private boolean leftOver(int number) {
        Incident<N> kind = happened.get(number);
        return kind != null && kind.leftOver() && subject.ours();
    }

    private Judgement judged() {
        return Judgement.of(ledger.issued(), topology.reigns());
    }

    /** What has been found up to now. */
    Figures figures() {
        Map<Integer, Counts> byNumber = judged().counts(ledger.unknown());
        Figures sum = Figures.NONE;
        for (Map.Entry<Integer, Incident<N>> one : happened.entrySet()) {
            Counts counts = byNumber.getOrDefault(one.getKey(), Counts.NONE);
            Incident<N> kind = one.getValue();
            sum = sum.plus(new Figures(1, Map.of(kind.name(), leftOver(one.getKey()) ? counts.excused() : counts)));
        }
        return sum;
    }

    @Override
    public void close() {
        near.close();
        far.close();
        topology.close();
    }
}
