package dev.palisade.guard.rules;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.Timer;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Who may know whom in this module. Each rule holds for the product and is broken by a seeded class, so none is blind. */
class GuardRulesTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.guard");
    private static final List<String> PARTS = new ArrayList<>();
    private static final JavaClasses SEEDED = new ClassFileImporter().importPackages("dev.palisade.guard.rules.seeded");

    /** The mark, its comparison, and admission control. */
    private static final DescribedPredicate<JavaClass> CORE = part(
            "core",
            "Access",
            "AdmissionControl",
            "AdmissionRequest",
            "Binding",
            "GuardStats",
            "Mark",
            "RefusalCounters",
            "RegisterDecision",
            "RegisteredCall",
            "RunningCalls",
            "Verdict");

    /** The differences between databases. */
    private static final DescribedPredicate<JavaClass> DIALECTS =
            part("dialect", "H2Dialect", "MySqlDialect", "PostgresDialect", "SqlDialect", "SqlFailure");

    /** What needs more of a driver than JDBC. */
    private static final DescribedPredicate<JavaClass> LISTENERS = part("listener", "PostgresListener");

    /** The check inside a transaction of the storage. */
    private static final DescribedPredicate<JavaClass> STORAGE = part(
            "storage",
            "Fence",
            "FenceCheck",
            "FenceCounters",
            "FenceRejections",
            "FenceTable",
            "FencedJdbc",
            "GuardedConnection",
            "OwnTransaction",
            "SpringTransactions");

    /** The stores of marks, and all that only they use. */
    private static final DescribedPredicate<JavaClass> MARK_STORES = part(
            "mark",
            "BaseMark",
            "Change",
            "ChangeCodec",
            "FieldGuesses",
            "FieldRegister",
            "FieldRows",
            "FileMarkStore",
            "GroupCommit",
            "JdbcMarkStore",
            "JdbcRegister",
            "KeptMarks",
            "LeaveAnnouncements",
            "MarkDirectory",
            "MarkLog",
            "MarkLogReader",
            "MarkStore",
            "MarkTables",
            "MarkTransaction",
            "Marks",
            "MemoryMarkStore",
            "RegisterHeader",
            "RegisterRows",
            "RegisterStore",
            "RegisterTables",
            "ResourceRow",
            "SharedRegister",
            "Unavailable");

    /** The guard in front of a backend, and its registration. It may use all of the others but the storage. */
    private static final DescribedPredicate<JavaClass> GUARD = part(
            "guard",
            "Admission",
            "AdmittedCall",
            "ArrivalObservers",
            "Check",
            "Guard",
            "GuardContext",
            "GuardCounters",
            "GuardRegistration",
            "GuardRegistrations",
            "LocalGate",
            "LocalGates",
            "LockService",
            "MarkContinuity",
            "MarkOwnership",
            "MultiAdmission",
            "RefusalReporter",
            "RefusalReports",
            "RefusedKind",
            "ResourceGate",
            "ResourceGates",
            "ServingState",
            "SharedCall",
            "SharedGate",
            "SharedGates",
            "SharedStep",
            "StopRequest",
            "SystemTime",
            "Time");

    private static final ArchRule CORE_KNOWS_THE_CONTRACT_ONLY = classes()
            .that(CORE)
            .should()
            .onlyDependOnClassesThat(CORE.or(resideInAnyPackage(
                    "dev.palisade.contract", "java.lang..", "java.util..", "org.jspecify.annotations")));
    private static final ArchRule CORE_READS_NO_CLOCK = noClasses()
            .that(CORE)
            .should()
            .accessTargetWhere(method(System.class, "currentTimeMillis"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Date.class);
    private static final ArchRule CORE_READS_NO_MONOTONIC_CLOCK = noClasses()
            .that(CORE)
            .should()
            .accessTargetWhere(method(System.class, "nanoTime"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Timer.class);
    private static final ArchRule CORE_DRAWS_NO_RANDOM = noClasses()
            .that(CORE)
            .should()
            .accessTargetWhere(method(UUID.class, "randomUUID"))
            .orShould()
            .dependOnClassesThat()
            .areAssignableTo(Random.class);
    private static final ArchRule CORE_STARTS_NO_THREAD =
            noClasses().that(CORE).should().dependOnClassesThat().areAssignableTo(Thread.class);
    private static final ArchRule STORAGE_ADDS_NO_DEPENDENCY = classes()
            .that(STORAGE)
            .should()
            .onlyDependOnClassesThat(STORAGE.or(DIALECTS)
                    .or(CORE)
                    .or(resideInAnyPackage(
                            "dev.palisade.contract",
                            "dev.palisade.contract.crypto",
                            "java..",
                            "javax.sql",
                            "org.jspecify.annotations")));
    private static final ArchRule DIALECTS_KNOW_THE_DRIVER_API_ONLY = classes()
            .that(DIALECTS)
            .should()
            .onlyDependOnClassesThat(DIALECTS.or(
                    resideInAnyPackage("dev.palisade.contract", "java..", "javax.sql", "org.jspecify.annotations")));
    private static final ArchRule LISTENERS_KNOW_ONE_DRIVER = classes()
            .that(LISTENERS)
            .should()
            .onlyDependOnClassesThat(LISTENERS.or(
                    resideInAnyPackage("java..", "javax.sql", "org.postgresql", "org.jspecify.annotations")));
    private static final ArchRule MARK_STORES_ADD_NO_DEPENDENCY = classes()
            .that(MARK_STORES)
            .should()
            .onlyDependOnClassesThat(MARK_STORES
                    .or(DIALECTS)
                    .or(LISTENERS)
                    .or(CORE)
                    .or(resideInAnyPackage(
                            "dev.palisade.contract",
                            "dev.palisade.contract.files",
                            "java..",
                            "javax.sql",
                            "org.jspecify.annotations")));
    private static final ArchRule GUARD_KNOWS_NO_STORAGE =
            noClasses().that(GUARD).should().dependOnClassesThat(STORAGE.or(DIALECTS));
    private static final ArchRule GRPC_ONLY_AT_THE_EDGE = noClasses()
            .that()
            .resideOutsideOfPackage("..grpc..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.grpc..");
    private static final ArchRule NO_CYCLES_IN_THE_PRODUCT =
            slices().matching("dev.palisade.guard.(*)..").should().beFreeOfCycles();
    private static final ArchRule NO_CYCLES_AMONG_THE_SEEDED = slices().matching(
                    "dev.palisade.guard.rules.seeded.cycle.(*)..")
            .should()
            .beFreeOfCycles();

    /** A new class has to be put into a part, and a renamed one cannot fall out of its rules. */
    @Test
    void everyClassIsOfOnePart() {
        assertThat(PRODUCT.that(resideInAPackage("dev.palisade.guard")).stream()
                        .filter(JavaClass::isTopLevelClass)
                        .map(JavaClass::getSimpleName)
                        .filter(name -> !name.equals("package-info")))
                .containsExactlyInAnyOrderElementsOf(PARTS);
    }

    @Test
    void coreKnowsTheContractOnly() {
        holdsAndSees(CORE_KNOWS_THE_CONTRACT_ONLY, "KnowsJdbc");
    }

    @Test
    void coreReadsNoClock() {
        holdsAndSees(CORE_READS_NO_CLOCK, "ReadsWallClock");
    }

    @Test
    void coreReadsNoMonotonicClock() {
        holdsAndSees(CORE_READS_NO_MONOTONIC_CLOCK, "ReadsMonotonicClock");
    }

    @Test
    void coreDrawsNoRandom() {
        holdsAndSees(CORE_DRAWS_NO_RANDOM, "DrawsRandom");
    }

    @Test
    void coreStartsNoThread() {
        holdsAndSees(CORE_STARTS_NO_THREAD, "StartsThread");
    }

    @Test
    void storageAddsNoDependency() {
        holdsAndSees(STORAGE_ADDS_NO_DEPENDENCY, "KnowsDriver");
    }

    @Test
    void dialectsKnowTheDriverApiOnly() {
        holdsAndSees(DIALECTS_KNOW_THE_DRIVER_API_ONLY, "KnowsH2");
    }

    @Test
    void listenersKnowOneDriver() {
        holdsAndSees(LISTENERS_KNOW_ONE_DRIVER, "KnowsSecondDriver");
    }

    @Test
    void markStoresAddNoDependency() {
        holdsAndSees(MARK_STORES_ADD_NO_DEPENDENCY, "KnowsStorageEngine");
    }

    @Test
    void guardKnowsNoStorage() {
        holdsAndSees(GUARD_KNOWS_NO_STORAGE, "KnowsFence");
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

    /** The classes of these names in the guard's package, with all that is nested in them; and a seeded package. */
    private static DescribedPredicate<JavaClass> part(String name, String... types) {
        PARTS.addAll(List.of(types));
        return resideInAnyPackage("..seeded." + name + "..")
                .or(nameMatching("(\\[L)?dev\\.palisade\\.guard\\.(" + String.join("|", types) + ")(\\$.*)?;?"))
                .as(name + " classes");
    }

    private static void holdsAndSees(ArchRule rule, String seeded) {
        rule.check(PRODUCT);
        assertThat(rule.evaluate(SEEDED).getFailureReport().getDetails())
                .as("the seeded violation is seen")
                .anySatisfy(detail -> assertThat(detail).contains(seeded));
    }
}
