package dev.palisade.incidents;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Whose tokens are taken, and what is expected of them.
 *
 * @param patience how long an incident waits for tokens that may never come
 */
record Subject(String name, Expected expected, Duration patience, Side.Maker maker) {
    enum Expected {
        /** A violation fails the run. */
        SOUND,
        /** A bug on purpose: the run fails if it does not find it. */
        CAUGHT,
        /** What is found is told. */
        COMPARED
    }

    private static final Duration SOON = Duration.ofSeconds(2);
    /** Redisson sends again for that long before it gives up. */
    private static final Duration LATER = Duration.ofSeconds(6);

    static List<Subject> all() {
        List<Subject> all = new ArrayList<>();
        all.add(new Subject(
                "naive",
                Expected.COMPARED,
                SOON,
                (topology, addresses) -> new NaiveIssuer(addresses, topology.primary())));
        all.add(new Subject("redisson", Expected.COMPARED, LATER, RedissonIssuer::new));
        Rule rule = Rule.whole();
        all.add(ruled("rule", Expected.SOUND, rule));
        all.add(ruled(
                "bare-incr",
                Expected.CAUGHT,
                rule.with(
                                "local continuous = stored == issued and issued > 0 and seen[counter] == current",
                                "local continuous = true")
                        .with("local known = issued >= floor", "local known = true")
                        .with("local from = stored", "local from = stored; epoch[counter] = 0")));
        all.add(ruled(
                "whole-second-clock",
                Expected.CAUGHT,
                rule.with("local clock = ms * PER_MILLI", "local clock = math.floor(ms / 1000) * 1000 * PER_MILLI")));
        all.add(ruled("no-replication-id", Expected.CAUGHT, rule.with(" and seen[counter] == current", "")));
        all.add(ruled(
                "id-read-each-10-ms",
                Expected.CAUGHT,
                rule.with("if ms ~= id_read then", "if ms - id_read >= 10 then")));
        all.add(ruled(
                "floor-without-suspect",
                Expected.CAUGHT,
                rule.with("if not known and not confirmed then", "if false then")));
        all.add(ruled(
                "epochs-unconfirmed",
                Expected.CAUGHT,
                rule.with("if not continuous and not confirmed then", "if false then")));
        return List.copyOf(all);
    }

    private static Subject ruled(String name, Expected expected, Rule rule) {
        return new Subject(name, expected, SOON, (topology, addresses) -> new RuleIssuer(rule, topology, addresses));
    }

    static Optional<Subject> named(String name) {
        return all().stream().filter(subject -> subject.name().equals(name)).findFirst();
    }
}
