package dev.palisade.contract;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the contract may know. Each rule is also tried on a violation seeded in {@code dev.palisade.seeded}. */
class ArchitectureTest {
    private static final JavaClasses CONTRACT = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("dev.palisade.contract", "dev.palisade.proto");
    private static final JavaClasses SEEDED = new ClassFileImporter().importPackages("dev.palisade.seeded");

    private static final Map<String, String> VIOLATIONS = Map.of(
            "the contract's words need the JDK only", "contract.KnowsGrpc",
            "gRPC stays in contract.grpc", "contract.crypto.KnowsGrpc",
            "Tink stays in contract.crypto", "contract.cli.KnowsTink",
            "picocli stays in contract.cli", "contract.grpc.KnowsPicocli",
            "packages form no cycle", "contract.crypto.KnowsCli");

    private static Map<String, ArchRule> rules(String root) {
        String contract = root + ".contract";
        Map<String, ArchRule> rules = new LinkedHashMap<>();
        rules.put(
                "the contract's words need the JDK only",
                classes()
                        .that()
                        .resideInAnyPackage(contract, contract + ".files")
                        .should()
                        .onlyDependOnClassesThat(resideInAnyPackage(
                                contract, contract + ".files", "java..", "org.jspecify.annotations")));
        rules.put("gRPC stays in contract.grpc", only("io.grpc..", contract + ".grpc", "dev.palisade.proto.v1"));
        rules.put("Tink stays in contract.crypto", only("com.google.crypto.tink..", contract + ".crypto"));
        rules.put("picocli stays in contract.cli", only("picocli..", contract + ".cli"));
        rules.put(
                "packages form no cycle",
                slices().assignedFrom(new Packages(root)).should().beFreeOfCycles());
        return rules;
    }

    private static ArchRule only(String library, String... where) {
        return noClasses()
                .that()
                .resideOutsideOfPackages(where)
                .should()
                .dependOnClassesThat(resideInAPackage(library));
    }

    static Set<String> names() {
        return rules("dev.palisade").keySet();
    }

    @ParameterizedTest
    @MethodSource("names")
    void theContractKeepsTheRule(String rule) {
        Objects.requireNonNull(rules("dev.palisade").get(rule)).check(CONTRACT);
    }

    @ParameterizedTest
    @MethodSource("names")
    void theRuleReportsItsSeededViolation(String rule) {
        String violation = VIOLATIONS.get(rule);
        assertThat(violation).as("a seeded violation of: %s", rule).isNotNull();
        var result =
                Objects.requireNonNull(rules("dev.palisade.seeded").get(rule)).evaluate(SEEDED);
        assertThat(result.getFailureReport().getDetails())
                .anyMatch(detail -> detail.contains("dev.palisade.seeded." + violation));
    }

    private record Packages(String root) implements SliceAssignment {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass type) {
            String name = type.getPackageName();
            return name.startsWith(root + ".") ? SliceIdentifier.of(name) : SliceIdentifier.ignore();
        }

        @Override
        public String getDescription() {
            return "packages of " + root;
        }
    }
}
