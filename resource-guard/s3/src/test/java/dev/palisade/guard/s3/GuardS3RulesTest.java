package dev.palisade.guard.s3;

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
class GuardS3RulesTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.guard.s3");

    @Test
    void everyPublicTypeIsDecided() {
        assertThat(PRODUCT.stream()
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getSimpleName))
                .containsExactlyInAnyOrder("FencedS3", "SequencerHttpClient");
    }

    @Test
    void itUsesTheGuardTheContractAndTheAwsSdk() {
        ArchRule rule = classes()
                .that()
                .resideInAPackage("dev.palisade.guard.s3")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "dev.palisade.guard.s3",
                        "dev.palisade.guard",
                        "dev.palisade.contract",
                        "dev.palisade.contract.crypto",
                        "software.amazon.awssdk..",
                        "java..",
                        "org.jspecify.annotations");
        rule.check(PRODUCT);
        assertThat(rule.evaluate(new ClassFileImporter().importClasses(GuardS3RulesTest.class))
                        .hasViolation())
                .as("a class that uses something else is seen")
                .isTrue();
    }
}
