package dev.palisade.client;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import dev.palisade.client.seeded.ReadsAClock;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What users see stays small, and what decides about time is given the time. */
class ArchitectureTest {
    private static final JavaClasses PRODUCT = new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("dev.palisade.client");

    private static final ArchRule CLOCKS_ARE_READ_IN_ONE_PLACE = noClasses()
            .that()
            .doNotHaveFullyQualifiedName(PalisadeClient.Builder.class.getName())
            .should()
            .accessTargetWhere(new DescribedPredicate<JavaAccess<?>>("a clock of the system") {
                @Override
                public boolean test(JavaAccess<?> access) {
                    return access.getTargetOwner().isEquivalentTo(System.class)
                            && Set.of("nanoTime", "currentTimeMillis").contains(access.getName());
                }
            });

    @Test
    void clocksAreReadInOnePlace() {
        CLOCKS_ARE_READ_IN_ONE_PLACE.check(PRODUCT);
        assertThat(CLOCKS_ARE_READ_IN_ONE_PLACE
                        .evaluate(new ClassFileImporter().importClasses(ReadsAClock.class))
                        .hasViolation())
                .as("seen in a seeded class")
                .isTrue();
    }

    @Test
    void thePublicTypesAreTheseAndNoOthers() {
        Set<String> seen = PRODUCT.stream()
                .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                .filter(JavaClass::isTopLevelClass)
                .map(JavaClass::getSimpleName)
                .collect(Collectors.toSet());
        assertThat(seen)
                .containsExactlyInAnyOrder(
                        "AcquireObserver",
                        "AdvisoryLock",
                        "ClientObserver",
                        "ClientStats",
                        "AcquireOptions",
                        "AcquireResult",
                        "Lease",
                        "LockDescription",
                        "LockExplanation",
                        "Operations",
                        "PalisadeClient",
                        "Registration",
                        "ReleaseOutcome",
                        "SessionDescription",
                        "StoreDescription");
    }
}
