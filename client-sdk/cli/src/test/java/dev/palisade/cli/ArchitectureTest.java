package dev.palisade.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;

class ArchitectureTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.cli");

    private static final ArchRule ONLY_THE_JDK = classes()
            .that()
            .resideInAPackage("dev.palisade.cli.watchdog..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("java..", "dev.palisade.cli.watchdog", "org.jspecify.annotations");

    @Test
    void theWatchdogLoadsNothingButTheJdk() {
        ONLY_THE_JDK.check(PRODUCT);
        ArchRule seen = classes()
                .that()
                .resideInAPackage("dev.palisade.cli.run..")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "dev.palisade.cli..", "org.jspecify.annotations");
        assertThat(seen.evaluate(PRODUCT).hasViolation())
                .as("the same rule sees what run depends on")
                .isTrue();
    }

    @Test
    void thePackagesFormNoCycle() {
        slices().matching("dev.palisade.(cli..)").should().beFreeOfCycles().check(PRODUCT);
    }
}
