package dev.palisade.gateway;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;

/**
 * What this module offers and what its parts may use. Each rule is also seen to be broken by a class that breaks it.
 */
class GatewayRulesTest {
    private static final String PACKAGE = "dev.palisade.gateway";

    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages(PACKAGE);

    @Test
    void onlyTheCommandIsPublic() {
        assertThat(PRODUCT.stream()
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getSimpleName))
                .containsExactly("Main");
    }

    /** Nothing of a lock server or of the SDK, and no second HTTP library. */
    @Test
    void moduleUsesGuardContractAndItsLibraries() {
        ArchRule rule = classes()
                .that()
                .resideInAPackage(PACKAGE)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        PACKAGE,
                        "dev.palisade.admin",
                        "dev.palisade.guard",
                        "dev.palisade.guard.grpc",
                        "dev.palisade.guard.redis",
                        "dev.palisade.contract..",
                        "dev.palisade.micrometer",
                        "com.linecorp.armeria..",
                        "io.grpc..",
                        "io.netty..",
                        "org.reactivestreams",
                        "com.google.gson",
                        "com.google.protobuf",
                        "com.zaxxer.hikari",
                        "io.lettuce.core..",
                        "io.micrometer.core.instrument.binder",
                        "org.snakeyaml.engine..",
                        "picocli",
                        "org.slf4j..",
                        "java..",
                        "javax.net.ssl",
                        "javax.xml.stream",
                        "org.jspecify.annotations");
        rule.check(PRODUCT);
        assertThat(rule.evaluate(new ClassFileImporter().importClasses(GatewayRulesTest.class))
                        .hasViolation())
                .as("a class that uses something else is seen")
                .isTrue();
    }

    /** Only the reader of the config knows YAML; routing knows neither the file nor the guard's gates. */
    @Test
    void onlyTheConfigReaderKnowsYaml() {
        seenBroken(
                noClasses()
                        .that(nameMatching(PACKAGE.replace(".", "\\.")
                                + "\\.(?!ConfigFile|RouteSection|TlsConfig|RegisterConfig|YamlSection|Mistakes).*"))
                        .should()
                        .dependOnClassesThat()
                        .resideInAPackage("org.snakeyaml.."),
                noClasses().should().dependOnClassesThat().resideInAPackage("org.snakeyaml.."));
    }

    /** The guard's store hides where the register is. */
    @Test
    void eachDatabaseIsKnownToOneClass() {
        seenBroken(
                noClasses()
                        .that(nameMatching(PACKAGE.replace(".", "\\.") + "\\.(?!RegisterInRedis|RegisterInPostgres).*"))
                        .should()
                        .dependOnClassesThat()
                        .resideInAnyPackage("io.lettuce..", "com.zaxxer.."),
                noClasses().should().dependOnClassesThat().resideInAPackage("io.lettuce.."));
    }

    /** The timers measure; nothing else of a request's way looks at a clock, and no wall clock is read at all. */
    @Test
    void onlyTimersAndPoolReadTheClock() {
        ArchRule rule = noClasses()
                .that()
                .doNotHaveSimpleName("ActivityTimer")
                .and()
                .doNotHaveSimpleName("GrpcDeadline")
                .and(com.tngtech.archunit.base.DescribedPredicate.not(type(UpstreamPool.class)))
                .and()
                .doNotHaveSimpleName("Instance")
                .should()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis");
        seenBroken(rule, noClasses().should().callMethod(System.class, "nanoTime"));
    }

    /** @param wider the same rule without its exceptions: it must be broken, or the rule sees nothing */
    private static void seenBroken(ArchRule rule, ArchRule wider) {
        rule.check(PRODUCT);
        assertThat(wider.evaluate(PRODUCT).hasViolation()).isTrue();
    }
}
