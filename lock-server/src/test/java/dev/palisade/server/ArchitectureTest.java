package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who may know whom. Each rule is also tried on a violation seeded in {@code dev.palisade.seeded}. */
class ArchitectureTest {
    private static final JavaClasses SERVER = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("dev.palisade.server");
    private static final JavaClasses SEEDED = new ClassFileImporter().importPackages("dev.palisade.seeded");

    /** Which class of {@code dev.palisade.seeded} breaks which rule. */
    private static final Map<String, String> VIOLATIONS = Map.ofEntries(
            Map.entry("core knows the contract and plain Java only", "core.KnowsGrpcContract"),
            Map.entry("core draws no UUID", "core.DrawsUuid"),
            Map.entry("core draws no random number", "core.DrawsRandom"),
            Map.entry("core draws no Math.random", "core.DrawsMathRandom"),
            Map.entry("core knows no Date", "core.KnowsDate"),
            Map.entry("core knows no Timer", "core.KnowsTimer"),
            Map.entry("core knows no Thread", "core.KnowsThread"),
            Map.entry("core reads no wall clock", "core.ReadsWallClock"),
            Map.entry("core reads no monotonic clock", "core.ReadsMonotonicClock"),
            Map.entry("core reads no Instant", "core.ReadsInstant"),
            Map.entry("ownership knows the contract and plain Java only", "ownership.KnowsGrpcContract"),
            Map.entry("ownership draws no UUID", "ownership.DrawsUuid"),
            Map.entry("ownership draws no random number", "ownership.DrawsRandom"),
            Map.entry("ownership draws no Math.random", "ownership.DrawsMathRandom"),
            Map.entry("ownership knows no Date", "ownership.KnowsDate"),
            Map.entry("ownership knows no Timer", "ownership.KnowsTimer"),
            Map.entry("ownership knows no Thread", "ownership.KnowsThread"),
            Map.entry("ownership reads no wall clock", "ownership.ReadsWallClock"),
            Map.entry("ownership reads no monotonic clock", "ownership.ReadsMonotonicClock"),
            Map.entry("ownership reads no Instant", "ownership.ReadsInstant"),
            Map.entry("of the server, core knows itself only", "core.KnowsStore"),
            Map.entry("of the server, store knows core and ownership only", "store.KnowsEngine"),
            Map.entry("the port does not know its stores", "store.KnowsEmbedded"),
            Map.entry("of the server, engine knows the port and core only", "engine.KnowsEmbedded"),
            Map.entry("of the server, rpc knows engine, access and core only", "rpc.KnowsStore"),
            Map.entry("of the server, metrics knows engine, the port and core only", "metrics.KnowsEmbedded"),
            Map.entry("of the server, admin knows rpc only", "admin.KnowsEngine"),
            Map.entry("of the server, tracing knows rpc only", "tracing.KnowsEngine"),
            Map.entry("OpenTelemetry stays in tracing", "engine.KnowsOpenTelemetry"),
            Map.entry("Micrometer stays in metrics", "engine.KnowsMicrometer"),
            Map.entry("Prometheus' client stays in metrics", "engine.KnowsPrometheus"),
            Map.entry("of the server, access knows itself only", "access.KnowsEngine"),
            Map.entry("gRPC stays in rpc and the wiring", "engine.KnowsGrpc"),
            Map.entry("Redis' client stays in the Redis store", "store.KnowsRedis"),
            Map.entry("PostgreSQL's client stays in the PostgreSQL store", "store.KnowsSql"),
            Map.entry("Netty stays in the Redis store and the wiring", "rpc.KnowsNetty"),
            Map.entry("clocks are read in the wiring only", "engine.ReadsClock"),
            Map.entry("randomness is drawn in the wiring only", "engine.DrawsRandom"),
            Map.entry("packages form no cycle", "store.KnowsEngine"));

    static Set<String> rules() {
        return Rules.of("dev.palisade.server").keySet();
    }

    @ParameterizedTest
    @MethodSource("rules")
    void theServerKeepsTheRule(String rule) {
        assertThat(SERVER).isNotEmpty();
        Rules.named("dev.palisade.server", rule).check(SERVER);
    }

    @ParameterizedTest
    @MethodSource("rules")
    void theRuleReportsItsSeededViolation(String rule) {
        String violation = VIOLATIONS.get(rule);
        assertThat(violation).as("a seeded violation of: %s", rule).isNotNull();
        var result = Rules.named("dev.palisade.seeded", rule).evaluate(SEEDED);
        assertThat(result.getFailureReport().getDetails())
                .as(rule)
                .anyMatch(detail -> detail.contains("dev.palisade.seeded." + violation));
    }

    @Test
    void everySeededViolationIsOfARule() {
        assertThat(VIOLATIONS.keySet()).isEqualTo(rules());
    }
}
