package dev.palisade.incidents;

import dev.palisade.scenario.History;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Fault-injection campaign on new processes of one store: two applications take tokens while incidents happen one after
 * the other. The tokens of the whole campaign are checked together. One thread uses it.
 */
final class Campaign<N extends Node> implements AutoCloseable {
    private static final int TOKENS_AFTERWARDS = 15;
    private static final Duration RECOVERY_TIMEOUT = Duration.ofSeconds(60);
    /** 2024-01-01T00:00Z, the epoch of a lock server's tokens. */
    private static final long TOKEN_EPOCH_MILLIS = 1_704_067_200_000L;

    private static final long TOKENS_PER_MILLI = 4_096;

    private final IssuerUnderTest issuer;
    private final Topology<N> topology;
    private final TokenLog tokenLog;
    private final AppProcess near;
    private final AppProcess far;
    private final Map<Integer, Incident<N>> injected = new HashMap<>();

    Campaign(StoreUnderTest<N> store, IssuerUnderTest issuer, History file) {
        this.issuer = issuer;
        this.tokenLog = new TokenLog(file);
        this.topology = store.topology().get();
        this.near = new AppProcess("near", topology, issuer.factory());
        this.far = new AppProcess("far", topology, issuer.factory());
    }

    void inject(Schedule.Planned<Incident<N>> planned) {
        injected.put(planned.number(), planned.kind());
        tokenLog.begin(planned.number(), planned.kind().name());
        if (injected.size() == 1) {
            List.of(near, far).forEach(app -> app.startClients(tokenLog));
        }
        FaultContext<N> context =
                new FaultContext<>(topology, near, far, tokenLog, new Random(planned.dice()), issuer.timeout());
        context.tokens(planned.afterTokens());
        planned.kind().inject(context);
        context.tokens(TOKENS_AFTERWARDS);
        tokenLog.note("healing");
        topology.heal();
        context.apps().forEach(AppProcess::heal);
        long before = tokenLog.count(any -> true);
        if (!context.tokens(TOKENS_AFTERWARDS) && issuer.ours()) {
            // Without tokens the checker would find no fault.
            Polling.until(
                    issuer.name() + " issues a token after incident " + planned.number() + " (" + planned.kind()
                            + "), which is repaired",
                    RECOVERY_TIMEOUT,
                    () -> tokenLog.count(any -> true) > before);
        }
    }

    int injectedCount() {
        return injected.size();
    }

    /**
     * Whether a token is ahead of the clock, after a clock step or fast successive losses. A loss of all data before
     * the clock catches up is excluded from the guarantees, so a new campaign has to begin.
     */
    boolean hasTokensAhead() {
        long clock = (System.currentTimeMillis() - TOKEN_EPOCH_MILLIS) * TOKENS_PER_MILLI;
        return issuer.ours() && tokenLog.issued().stream().anyMatch(issued -> issued.token() > clock);
    }

    /**
     * Whether a fault was excluded from the guarantees. Later tokens must not be compared with its tokens, so a new
     * campaign has to begin.
     */
    boolean hasExcluded() {
        return checkTokens().faults().keySet().stream().anyMatch(this::isExcluded);
    }

    /** Descriptions of the faults up to now. */
    List<String> faults() {
        return checkTokens().faults().entrySet().stream()
                .filter(fault -> !isExcluded(fault.getKey()))
                .flatMap(fault -> fault.getValue().stream()
                        .map(description -> "incident " + fault.getKey() + ", " + injected.get(fault.getKey()) + ": "
                                + description))
                .toList();
    }

    private boolean isExcluded(int number) {
        Incident<N> kind = injected.get(number);
        return kind != null && kind.isExcluded() && issuer.ours();
    }

    private TokenChecker checkTokens() {
        return TokenChecker.of(tokenLog.issued(), topology.terms());
    }

    /** The results up to now. */
    IncidentStatistics statistics() {
        Map<Integer, Counts> byNumber = checkTokens().counts(tokenLog.unknown());
        IncidentStatistics sum = IncidentStatistics.NONE;
        for (Map.Entry<Integer, Incident<N>> one : injected.entrySet()) {
            Counts counts = byNumber.getOrDefault(one.getKey(), Counts.NONE);
            Incident<N> kind = one.getValue();
            sum = sum.plus(new IncidentStatistics(
                    1, Map.of(kind.name(), isExcluded(one.getKey()) ? counts.excluded() : counts)));
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
