package dev.palisade.micrometer;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import dev.palisade.client.FakePalisade;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The catalogue and the meters that are bound are the same. */
class LibraryMetricTest {
    private static void bind(io.micrometer.core.instrument.MeterRegistry registry, Runnable check) {
        try (FakePalisade fake = FakePalisade.start();
                Guard guard = Guard.builder(fake.verifier(), MarkStore.memory()).build()) {
            new ClientMetrics(fake.client("orders")).bindTo(registry);
            new GuardMetrics(guard).bindTo(registry);
            check.run();
        }
    }

    @Test
    void everyMeterIsInTheCatalogueWithItsLabelValues() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        bind(registry, () -> {
            for (LibraryMetric metric : LibraryMetric.values()) {
                List<Meter> meters = List.copyOf(registry.find(metric.meter()).meters());
                assertThat(meters)
                        .as(metric.meter())
                        .isNotEmpty()
                        .allSatisfy(meter ->
                                assertThat(meter.getId().getDescription()).isNotBlank());
                Set<String> values = meters.stream()
                        .flatMap(meter -> meter.getId().getTags().stream())
                        .map(tag -> tag.getKey() + "=" + tag.getValue())
                        .collect(Collectors.toCollection(TreeSet::new));
                assertThat(values)
                        .as(metric.meter())
                        .containsExactlyInAnyOrderElementsOf(metric.labelValues().stream()
                                .map(value -> metric.labelKey() + "=" + value)
                                .toList());
            }
            assertThat(registry.getMeters().stream().map(meter -> meter.getId().getName()))
                    .as("meters that the catalogue does not have")
                    .allMatch(name -> Arrays.stream(LibraryMetric.values())
                            .anyMatch(metric ->
                                    name.equals(metric.meter()) || name.startsWith(metric.meter() + ".histogram")));
        });
    }

    @Test
    void namesAndTypesAreThoseThatPrometheusSees() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        bind(registry, () -> {
            String exposed = registry.scrape();
            for (LibraryMetric metric : LibraryMetric.values()) {
                assertThat(exposed).contains("# TYPE " + metric.exposedName() + " " + metric.exposedType() + "\n");
            }
        });
    }

    @Test
    void metricsOfAClientNeedNoGuardAndTheReverse() {
        JavaClasses module = new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages("dev.palisade.micrometer");
        ArchRule client = noClasses()
                .that()
                .haveNameNotMatching(".*\\.(Guard|Fence)Metrics.*")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.palisade.guard..");
        ArchRule guard = noClasses()
                .that()
                .haveNameNotMatching(".*\\.ClientMetrics.*")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("dev.palisade.client..");
        client.check(module);
        guard.check(module);
        JavaClasses seeded = new ClassFileImporter().importClasses(LibraryMetricTest.class);
        assertThat(client.evaluate(seeded).hasViolation()).isTrue();
        assertThat(guard.evaluate(seeded).hasViolation()).isTrue();
    }
}
