package dev.palisade.incidents;

import java.time.Duration;
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
    /** Processes that start, and clients that send again before they give up. */
    private static final Duration LATER = Duration.ofSeconds(6);

    /** A passage of the shipped rule, and what stands in its place. */
    private record Edit(String passage, String other) {}

    private static final List<Subject> ALL = List.of(
            new Subject("palisade", Expected.SOUND, LATER, PalisadeIssuer::functions),
            new Subject("palisade-log", Expected.SOUND, LATER, PalisadeIssuer::log),
            new Subject("palisade-log-resume", Expected.SOUND, LATER, PalisadeIssuer::resumingLog),
            ruled("rule", Expected.SOUND),
            new Subject(
                    "naive",
                    Expected.COMPARED,
                    SOON,
                    (topology, addresses) -> new NaiveIssuer(addresses, topology.primary())),
            new Subject("redisson", Expected.COMPARED, LATER, RedissonIssuer::new),
            ruled(
                    "bare-incr",
                    Expected.CAUGHT,
                    new Edit(
                            "local base = epoch_base(clock, math.max(stored or 0, known and known.last or 0, floor), "
                                    + "tonumber(args[5]))",
                            "local base = stored or 0"),
                    new Edit("if epoch.last < floor then", "if false then")),
            ruled(
                    "whole-second-clock",
                    Expected.CAUGHT,
                    new Edit(
                            "local clock = (clock_millis - ERA_MILLIS) * TOKENS_PER_MILLI",
                            "local clock = math.floor((clock_millis - ERA_MILLIS) / 1000) * 1000 * TOKENS_PER_MILLI")),
            ruled(
                    "no-replication-id",
                    Expected.CAUGHT,
                    new Edit("if epoch.id ~= current_replication_id(now) then", "if false then")),
            ruled(
                    "id-read-each-10-ms",
                    Expected.CAUGHT,
                    new Edit(
                            "if replication_id_millis ~= now then",
                            "if not replication_id_millis or now - replication_id_millis >= 10 then")),
            ruled(
                    "floor-without-suspect",
                    Expected.CAUGHT,
                    new Edit(
                            "local broken = break_of(epoch, stored_counter(counter), now, floor)",
                            "if epoch and epoch.last < floor then epoch.last = floor; epoch.text = as_text(floor); "
                                    + "redis.call('SET', counter, epoch.text) end "
                                    + "local broken = break_of(epoch, stored_counter(counter), now, floor)")),
            ruled("epochs-unconfirmed", Expected.CAUGHT, new Edit("if args[2] ~= '1' then", "if false then")));

    static List<Subject> all() {
        return ALL;
    }

    private static Subject ruled(String name, Expected expected, Edit... edits) {
        return new Subject(name, expected, SOON, (topology, addresses) -> {
            Rule rule = Rule.shipped();
            for (Edit edit : edits) {
                rule = rule.with(edit.passage(), edit.other());
            }
            return new RuleIssuer(rule, topology, addresses);
        });
    }

    static Optional<Subject> named(String name) {
        return ALL.stream().filter(subject -> subject.name().equals(name)).findFirst();
    }
}
