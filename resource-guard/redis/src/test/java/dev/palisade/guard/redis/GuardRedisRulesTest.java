package dev.palisade.guard.redis;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;

/** The public types of this module, each a decision, and what it may use. */
class GuardRedisRulesTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.guard.redis");

    @Test
    void everyPublicTypeIsDecided() {
        assertThat(PRODUCT.stream()
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getSimpleName))
                .containsExactlyInAnyOrder("CommandList", "FencedRedis", "RedisRegister", "RedisReply");
    }

    @Test
    void itUsesTheGuardTheContractAndLettuce() {
        ArchRule rule = classes()
                .that()
                .resideInAPackage("dev.palisade.guard.redis")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "dev.palisade.guard.redis",
                        "dev.palisade.guard",
                        "dev.palisade.contract",
                        "dev.palisade.contract.crypto",
                        "io.lettuce.core..",
                        "io.netty.buffer",
                        "java..",
                        "org.jspecify.annotations");
        rule.check(PRODUCT);
        assertThat(rule.evaluate(new ClassFileImporter().importClasses(GuardRedisRulesTest.class))
                        .hasViolation())
                .as("a class that uses something else is seen")
                .isTrue();
    }
}
