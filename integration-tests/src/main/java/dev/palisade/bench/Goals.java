package dev.palisade.bench;

import dev.palisade.bench.TakeoverPart.End;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What was meant to be reached, held against what was measured. Nobody's verdict: it is printed and that is all. */
final class Goals {
    private static final String TIMES = " ×";

    private final Map<String, Comparison> comparisons;
    private final List<Judged> judged = new ArrayList<>();

    /**
     * One goal.
     *
     * @param what is to be reached
     * @param contestant by whom
     * @param goal in words
     * @param figure what was measured; null where it was not
     * @param unit of the figure
     * @param met whether it was reached; null where nothing was meant or measured
     */
    record Judged(
            String what,
            String contestant,
            String goal,
            @Nullable Double figure,
            String unit,
            @Nullable Boolean met) {}

    private Goals(List<Comparison> comparisons) {
        this.comparisons = comparisons.stream().collect(Collectors.toMap(Comparison::title, Function.identity()));
    }

    /** The goals of all comparisons that were made. */
    static List<Judged> judge(List<Comparison> comparisons) {
        Goals goals = new Goals(comparisons);
        goals.ownLocks(64, 4, 4, 3);
        goals.ownLocks(8, 2.5, 0, 1.2);
        goals.ownLocks(1, 1.2, 0.5, 0.7);
        goals.oneLock(64);
        goals.handOff();
        goals.chains();
        goals.virtual();
        goals.guard();
        goals.gateway();
        goals.metrics();
        goals.cost();
        goals.takeover();
        return goals.judged;
    }

    /** Zero where nothing is meant. */
    private void ownLocks(int threads, double process, double synced, double redis) {
        String title = LockParts.ownLocksTitle(threads);
        String what = "own locks, threads: " + threads;
        faster(what, title, Store.PROCESS, process);
        faster(what, title, Store.SYNCED, synced);
        faster(what, title, Store.REDIS, redis);
        faster(what, title, Store.POSTGRESQL, 0);
    }

    private void oneLock(int threads) {
        String title = LockParts.oneLockTitle(threads);
        String what = "one lock, threads: " + threads;
        for (Store store : Store.values()) {
            boolean meant = store == Store.PROCESS || store == Store.REDIS;
            faster(what, title, store, !meant ? 0 : store == Store.REDIS ? 1.1 : 2);
            atMost(what + ": fairness", title, store, Callers.FAIRNESS, meant ? 1.05 : 0);
            shorter(what + ": p99 wait", title, store, Samples.P99, !meant ? 0 : store == Store.REDIS ? 3 : 8);
        }
    }

    private void handOff() {
        shorter("hand-off p50", HandOff.TITLE, Store.PROCESS, Samples.P50, 2);
        shorter("hand-off p50", HandOff.TITLE, Store.SYNCED, Samples.P50, 0);
        shorter("hand-off p50", HandOff.TITLE, Store.REDIS, Samples.P50, 1.3);
        shorter("hand-off p99", HandOff.TITLE, Store.PROCESS, Samples.P99, 3);
        shorter("hand-off p99", HandOff.TITLE, Store.SYNCED, Samples.P99, 0);
        shorter("hand-off p99", HandOff.TITLE, Store.REDIS, Samples.P99, 1.5);
    }

    private void chains() {
        String few = LockParts.chainsTitle(512, 512);
        String many = LockParts.chainsTitle(512, LockParts.NAMES);
        atLeast("asynchronous callers: 512", few, Store.PROCESS.contestant(), 270_000);
        atLeast("asynchronous callers: 512", few, Store.SYNCED.contestant(), 220_000);
        atLeast("asynchronous callers: 512, " + LockParts.NAMES + " names", many, Store.SYNCED.contestant(), 250_000);
        atLeast("asynchronous callers: 512", few, Store.REDIS.contestant(), 100_000);
        String redis = LockParts.ownLocksTitle(64);
        of(redis)
                .ifPresent(found -> judge(
                        "Redis CPU of a pair, threads: 64",
                        Store.REDIS.contestant(),
                        5,
                        false,
                        " µs",
                        found.median(Store.REDIS.contestant(), round -> round.cpuMicrosEach(Service.REDIS))));
    }

    private void virtual() {
        String title = LockParts.virtualTitle(512);
        faster("virtual threads: 512", title, Store.PROCESS, 25);
        faster("virtual threads: 512", title, Store.SYNCED, 0);
        faster("virtual threads: 512", title, Store.REDIS, 5);
    }

    private void cost() {
        for (Store store : Store.values()) {
            atMost("leases of one session, % of a core", IdlePart.ONE, store, IdlePart.CORE, 2);
        }
        atMost("leases of many sessions, % of a core", IdlePart.MANY, Store.REDIS, IdlePart.CORE, 10);
        atMost("MB left of names", NamesPart.TITLE, Store.SYNCED, NamesPart.LEFT, NamesPart.NOTHING_MB);
        atMost("MB left of names", NamesPart.TITLE, Store.REDIS, NamesPart.LEFT, NamesPart.NOTHING_MB);
        for (Store store : Store.values()) {
            atMost("seconds until served", StartPart.TITLE, store, StartPart.SECONDS, 1.5);
        }
    }

    private void takeover() {
        for (Store store : Store.values()) {
            if (store.isShared()) {
                waits("seconds without a grant, one session", End.KILLED, false, store, TakeoverPart.LONGEST, 3);
                waits("seconds without a grant, one session", End.STOPPED, false, store, TakeoverPart.LONGEST, 0.5);
                waits("seconds without a grant, many sessions, p99", End.KILLED, true, store, TakeoverPart.P99, 5);
                waits("seconds without a grant, many sessions, p99", End.STOPPED, true, store, TakeoverPart.P99, 0);
            }
        }
    }

    private void waits(String what, End end, boolean many, Store store, String figure, double most) {
        atMost(
                what + ", server " + (end == End.KILLED ? "killed" : "stopped"),
                TakeoverPart.title(end, many),
                store,
                figure,
                most);
    }

    private void guard() {
        atLeast("admissions", GuardParts.ADMISSIONS, "guard", 1_000_000);
        of(GuardParts.CALLS)
                .ifPresent(found -> judge(
                        "CPU of a guarded call",
                        "guarded",
                        1.05,
                        false,
                        TIMES,
                        ratio(Comparison.times(
                                found.median("guarded", GuardParts::cpu),
                                found.median("unguarded", GuardParts::cpu)))));
    }

    private void gateway() {
        of(GatewayPart.title(64)).ifPresent(found -> {
            OptionalDouble guarded = found.perSecond(GatewayPart.GUARDED);
            judge(
                    "requests of the unguarded route, connections: 64",
                    GatewayPart.GUARDED,
                    0.9,
                    true,
                    TIMES,
                    ratio(Comparison.times(guarded, found.perSecond(GatewayPart.UNGUARDED))));
            judge(
                    "requests of nginx, connections: 64",
                    GatewayPart.GUARDED,
                    0.5,
                    true,
                    TIMES,
                    ratio(Comparison.times(guarded, found.perSecond(GatewayPart.NGINX))));
            judge(
                    "CPU of an unguarded request, connections: 64",
                    GatewayPart.GUARDED,
                    1.1,
                    false,
                    TIMES,
                    ratio(Comparison.times(
                            found.median(GatewayPart.GUARDED, GatewayPart::cpu),
                            found.median(GatewayPart.UNGUARDED, GatewayPart::cpu))));
        });
    }

    private void metrics() {
        of(MetricsPart.TITLE)
                .ifPresent(found -> judge(
                        "pairs of a server without metrics, threads: 64",
                        MetricsPart.MEASURED,
                        0.98,
                        true,
                        TIMES,
                        ratio(Comparison.times(
                                found.perSecond(MetricsPart.MEASURED), found.perSecond(MetricsPart.PLAIN)))));
    }

    private void faster(String what, String title, Store store, double times) {
        String contestant = store.contestant();
        of(title)
                .ifPresent(found -> judge(
                        what,
                        contestant,
                        times,
                        true,
                        TIMES,
                        ratio(Comparison.times(found.perSecond(contestant), found.perSecond(found.base())))));
    }

    /** By how many times the peer's figure is longer. */
    private void shorter(String what, String title, Store store, String figure, double times) {
        String contestant = store.contestant();
        of(title)
                .ifPresent(found -> judge(
                        what + ", shorter",
                        contestant,
                        times,
                        true,
                        TIMES,
                        ratio(Comparison.times(found.figure(found.base(), figure), found.figure(contestant, figure)))));
    }

    private void atMost(String what, String title, Store store, String figure, double most) {
        String contestant = store.contestant();
        of(title).ifPresent(found -> judge(what, contestant, most, false, "", found.figure(contestant, figure)));
    }

    private void atLeast(String what, String title, String contestant, double perSecond) {
        of(title).ifPresent(found -> judge(what, contestant, perSecond, true, "/s", found.perSecond(contestant)));
    }

    /** @param bound zero where nothing is meant */
    private void judge(
            String what, String contestant, double bound, boolean least, String unit, OptionalDouble measured) {
        Double figure = measured.isPresent() && !Double.isNaN(measured.getAsDouble()) ? measured.getAsDouble() : null;
        Boolean met =
                (bound == 0 || figure == null) ? null : Boolean.valueOf(least ? figure >= bound : figure <= bound);
        String goal = bound == 0 ? "-" : (least ? "≥ " : "≤ ") + text(bound) + unit;
        judged.add(new Judged(what, contestant, goal, figure, unit, met));
    }

    private Optional<Comparison> of(String title) {
        return Optional.ofNullable(comparisons.get(title));
    }

    private static OptionalDouble ratio(Optional<Double> times) {
        return times.map(OptionalDouble::of).orElse(OptionalDouble.empty());
    }

    /** A number with as many digits as a person wants. */
    static String text(double number) {
        return String.format(number >= 100 ? "%,.0f" : number >= 10 ? "%.1f" : number >= 1 ? "%.2f" : "%.3f", number);
    }
}
