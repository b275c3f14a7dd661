package dev.palisade.guard.rules;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Date;
import java.util.Random;
import java.util.Timer;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Who may know whom in this module. Each rule holds for the product and is broken by a seeded class, so none is blind. */
class GuardRulesTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.guard");
    private static final JavaClasses SEEDED = new ClassFileImporter().importPackages("dev.palisade.guard.rules.seeded");

    private static final ArchRule CORE_KNOWS_THE_CONTRACT_ONLY = classes()
            .that()
            .resideInAPackage("..core..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.palisade.contract",
                    "..guard.core..",
                    "java.lang..",
                    "java.util..",
                    "org.jspecify.annotations");
    private static final ArchRule CORE_READS_NO_CLOCK = noClasses()
            .that()
            .resideInAPackage("..core..")
            .should()
            .accessTargetWhere(method(System.class, "currentTimeMillis"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Date.class);
    private static final ArchRule CORE_MEASURES_NO_TIME = noClasses()
            .that()
            .resideInAPackage("..core..")
            .should()
            .accessTargetWhere(method(System.class, "nanoTime"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Timer.class);
    private static final ArchRule CORE_ROLLS_NO_DICE = noClasses()
            .that()
            .resideInAPackage("..core..")
            .should()
            .accessTargetWhere(method(UUID.class, "randomUUID"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Random.class);
    private static final ArchRule CORE_STARTS_NO_THREAD = noClasses()
            .that()
            .resideInAPackage("..core..")
            .should()
            .dependOnClassesThat()
            .areAssignableTo(Thread.class);
    private static final ArchRule STORAGE_DRAGS_NOTHING_IN = classes()
            .that()
            .resideInAPackage("..storage..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.palisade.contract",
                    "dev.palisade.contract.crypto",
                    "dev.palisade.guard",
                    "dev.palisade.guard.core",
                    "dev.palisade.guard.storage",
                    "java..",
                    "javax.sql",
                    "org.jspecify.annotations");
    private static final ArchRule MARK_STORES_DRAG_NOTHING_IN = classes()
            .that()
            .resideInAPackage("..mark..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    "dev.palisade.contract",
                    "dev.palisade.guard.core",
                    "dev.palisade.guard.mark",
                    "java..",
                    "javax.sql",
                    "org.jspecify.annotations");
    private static final ArchRule GRPC_ONLY_AT_THE_EDGE = noClasses()
            .that()
            .resideOutsideOfPackages("..objects..", "..grpc..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.grpc..");
    private static final ArchRule NO_CYCLES_IN_THE_PRODUCT =
            slices().matching("dev.palisade.guard.(*)..").should().beFreeOfCycles();
    private static final ArchRule NO_CYCLES_AMONG_THE_SEEDED = slices().matching(
                    "dev.palisade.guard.rules.seeded.cycle.(*)..")
            .should()
            .beFreeOfCycles();

    @Test
    void coreKnowsTheContractOnly() {
        holdsAndSees(CORE_KNOWS_THE_CONTRACT_ONLY, "KnowsADatabase");
    }

    @Test
    void coreReadsNoClock() {
        holdsAndSees(CORE_READS_NO_CLOCK, "ReadsTheClock");
    }

    @Test
    void coreMeasuresNoTime() {
        holdsAndSees(CORE_MEASURES_NO_TIME, "MeasuresTime");
    }

    @Test
    void coreRollsNoDice() {
        holdsAndSees(CORE_ROLLS_NO_DICE, "RollsDice");
    }

    @Test
    void coreStartsNoThread() {
        holdsAndSees(CORE_STARTS_NO_THREAD, "StartsAThread");
    }

    @Test
    void storageDragsNothingIn() {
        holdsAndSees(STORAGE_DRAGS_NOTHING_IN, "KnowsADriver");
    }

    @Test
    void markStoresDragNothingIn() {
        holdsAndSees(MARK_STORES_DRAG_NOTHING_IN, "KnowsAnEngine");
    }

    @Test
    void grpcOnlyAtTheEdge() {
        holdsAndSees(GRPC_ONLY_AT_THE_EDGE, "KnowsGrpc");
    }

    @Test
    void packagesFormNoCycle() {
        NO_CYCLES_IN_THE_PRODUCT.check(PRODUCT);
        assertThat(NO_CYCLES_AMONG_THE_SEEDED.evaluate(SEEDED).hasViolation()).isTrue();
    }

    /** Also when it is handed on as a method reference, which a rule on calls alone misses. */
    private static DescribedPredicate<JavaAccess<?>> method(Class<?> owner, String name) {
        return DescribedPredicate.describe(
                owner.getSimpleName() + "." + name,
                access -> access.getTargetOwner().isEquivalentTo(owner)
                        && access.getName().equals(name));
    }

    private static void holdsAndSees(ArchRule rule, String seeded) {
        rule.check(PRODUCT);
        assertThat(rule.evaluate(SEEDED).getFailureReport().getDetails())
                .as("the seeded violation is seen")
                .anySatisfy(detail -> assertThat(detail).contains(seeded));
    }
}
