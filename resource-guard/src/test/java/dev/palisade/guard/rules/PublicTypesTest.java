package dev.palisade.guard.rules;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The public types of the guard, each a decision. */
class PublicTypesTest {
    private static final List<String> DECIDED = List.of(
            "Access",
            "Admission",
            "Admission$Arrival",
            "Admission$Observer",
            "Admission$Retention",
            "Binding",
            "Check",
            "Fence",
            "FencedJdbc",
            "FencedJdbc$Work",
            "Guard",
            "Guard$Builder",
            "GuardStats",
            "LockService",
            "LockService$LeaseReply",
            "LockService$LeaseReply$Busy",
            "LockService$LeaseReply$Granted",
            "LockService$LeaseReply$Holder",
            "LockService$LeaseRequest",
            "LockService$RefusedCalls",
            "Mark",
            "MarkStore",
            "MarkStore$SharedFields",
            "MarkStore$SharedFields$Reply",
            "MarkStore$StoredMark",
            "RefusalReports",
            "grpc.GrpcLockService",
            "grpc.GuardInterceptor",
            "grpc.GuardInterceptor$Builder",
            "grpc.GuardService");

    /** How many types a reader of the API has to tell apart; those that are nested in them come with them. */
    private static final int TOP_LEVEL_MAX = 15;

    @Test
    void publicTypesAreFew() {
        assertThat(DECIDED.stream().filter(name -> !name.contains("$")))
                .as("top-level types; hide one, see decision 28")
                .hasSizeLessThanOrEqualTo(TOP_LEVEL_MAX);
    }

    @Test
    void everyPublicTypeIsDecided() {
        assertThat(new ClassFileImporter()
                                .withImportOption(new ImportOption.DoNotIncludeTests())
                                .importPackages("dev.palisade.guard")
                                .stream()
                                .filter(PublicTypesTest::isReachable)
                                .map(JavaClass::getName)
                                .map(name -> name.substring("dev.palisade.guard.".length())))
                .as("public types; add one here only when an application cannot do without it")
                .containsExactlyInAnyOrderElementsOf(DECIDED);
    }

    /** Whether an application can name it: it and all that it is nested in are public or protected. */
    private static boolean isReachable(JavaClass type) {
        boolean seen = type.getModifiers().contains(JavaModifier.PUBLIC)
                || type.getModifiers().contains(JavaModifier.PROTECTED);
        return seen
                && type.getEnclosingClass().map(PublicTypesTest::isReachable).orElse(true);
    }
}
