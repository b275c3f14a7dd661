package dev.palisade.client;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import java.net.URISyntaxException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The fake shares the SDK's package, and nothing else of it may grow. */
class FakeArchitectureTest {
    /** Of this artifact only. */
    private static JavaClasses fake() throws URISyntaxException {
        return new ClassFileImporter()
                .importPath(Path.of(FakePalisade.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI()));
    }

    @Test
    void oneTypeIsPublic() throws URISyntaxException {
        assertThat(fake().stream()
                        .filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC))
                        .map(JavaClass::getSimpleName))
                .containsExactly("FakePalisade");
    }

    @Test
    void itKnowsNeitherADiskNorAClockNorAnyThingOfTheServersProcess() throws URISyntaxException {
        ArchRule rule = noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("dev.palisade.server.store.embedded..", "dev.palisade.server", "java.nio.file..")
                .orShould()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(Thread.class, "sleep", long.class);
        rule.check(fake());
        assertThat(rule.evaluate(new ClassFileImporter().importClasses(FakeArchitectureTest.class))
                        .hasViolation())
                .as("seen in this class, which knows a path")
                .isTrue();
    }

    @Test
    void theServersLogIsNotOnTheClassPath() {
        // What users of the fake get along with it: a lock machine, not a lock server.
        assertThatCode(() -> Class.forName("ch.qos.logback.classic.Logger")).isInstanceOf(ClassNotFoundException.class);
    }
}
