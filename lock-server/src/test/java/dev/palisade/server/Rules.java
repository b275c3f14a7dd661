package dev.palisade.server;

import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.type;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.properties.HasName;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.syntax.elements.ClassesShould;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Timer;
import java.util.UUID;

/** Who may know whom in the lock server. Made for any root package, so that each rule can be tried on a seeded violation. */
final class Rules {
    private Rules() {}

    /** Every rule by name, for the server whose root package is {@code root}. */
    static Map<String, ArchRule> of(String root) {
        String core = root + ".core..";
        Map<String, ArchRule> rules = new LinkedHashMap<>();
        pure(rules, root, "core");
        pure(rules, root, "ownership");
        rules.put("of the server, core knows itself only", knowsOnly(root, core, core));
        rules.put(
                "of the server, store knows core and ownership only",
                knowsOnly(root, root + ".store..", root + ".store..", core, root + ".ownership"));
        rules.put(
                "the port does not know its stores",
                noClasses()
                        .that()
                        .resideInAPackage(root + ".store")
                        .should()
                        .dependOnClassesThat()
                        .resideInAPackage(root + ".store.*.."));
        rules.put(
                "of the server, engine knows the port and core only",
                knowsOnly(root, root + ".engine..", root + ".engine..", root + ".store", core));
        rules.put(
                "of the server, rpc knows engine, access and core only",
                knowsOnly(root, root + ".rpc..", root + ".rpc..", root + ".engine..", root + ".access..", core));
        rules.put(
                "of the server, metrics knows engine, the port and core only",
                knowsOnly(root, root + ".metrics..", root + ".metrics..", root + ".engine..", root + ".store", core));
        rules.put(
                "of the server, admin knows rpc only",
                knowsOnly(root, root + ".admin..", root + ".admin..", root + ".rpc.."));
        rules.put(
                "of the server, tracing knows rpc only",
                knowsOnly(root, root + ".tracing..", root + ".tracing..", root + ".rpc"));
        rules.put("OpenTelemetry stays in tracing", only("io.opentelemetry..", root + ".tracing.."));
        rules.put("Micrometer stays in metrics", only("io.micrometer..", root + ".metrics.."));
        rules.put("Prometheus' client stays in metrics", only("io.prometheus..", root + ".metrics.."));
        rules.put("of the server, access knows itself only", knowsOnly(root, root + ".access..", root + ".access.."));
        rules.put("gRPC stays in rpc and the wiring", only("io.grpc..", root + ".rpc..", root));
        rules.put("Redis' client stays in the Redis store", only("io.lettuce..", root + ".store.redis.."));
        rules.put(
                "PostgreSQL's client stays in the PostgreSQL store", only("java.sql..", root + ".store.postgresql.."));
        rules.put("Netty stays in the Redis store and the wiring", only("io.netty..", root + ".store.redis..", root));
        rules.put(
                "clocks are read in the wiring only",
                noClasses()
                        .that()
                        .resideOutsideOfPackage(root)
                        .should()
                        .accessTargetWhere(method(System.class, "currentTimeMillis")
                                .or(method(System.class, "nanoTime"))
                                .or(method(Instant.class, "now"))));
        rules.put(
                "randomness is drawn in the wiring only",
                noClasses()
                        .that()
                        .resideOutsideOfPackage(root)
                        .should()
                        .dependOnClassesThat()
                        .areAssignableTo(SecureRandom.class));
        rules.put(
                "packages form no cycle",
                slices().assignedFrom(new Packages(root)).should().beFreeOfCycles());
        return rules;
    }

    static ArchRule named(String root, String name) {
        return Objects.requireNonNull(of(root).get(name), name);
    }

    /** No clock, random number, thread or I/O: time and random bits come as arguments. */
    @SuppressWarnings("JavaUtilDate")
    private static void pure(Map<String, ArchRule> rules, String root, String name) {
        String where = root + "." + name + "..";
        rules.put(
                name + " knows the contract and plain Java only",
                classes()
                        .that()
                        .resideInAPackage(where)
                        .should()
                        .onlyDependOnClassesThat(resideInAnyPackage(
                                where,
                                "dev.palisade.contract",
                                "java.lang",
                                "java.lang.invoke",
                                "java.lang.runtime",
                                "java.util",
                                "java.util.function",
                                "java.util.stream",
                                "org.jspecify.annotations")));
        ClassesShould never = noClasses().that().resideInAPackage(where).should();
        rules.put(name + " draws no UUID", never.accessTargetWhere(method(UUID.class, "randomUUID")));
        rules.put(name + " draws no random number", never.dependOnClassesThat().areAssignableTo(Random.class));
        rules.put(name + " draws no Math.random", never.accessTargetWhere(method(Math.class, "random")));
        rules.put(name + " knows no Date", never.dependOnClassesThat().areAssignableTo(Date.class));
        rules.put(name + " knows no Timer", never.dependOnClassesThat().areAssignableTo(Timer.class));
        rules.put(name + " knows no Thread", never.dependOnClassesThat().areAssignableTo(Thread.class));
        rules.put(name + " reads no wall clock", never.accessTargetWhere(method(System.class, "currentTimeMillis")));
        rules.put(name + " reads no monotonic clock", never.accessTargetWhere(method(System.class, "nanoTime")));
        rules.put(name + " reads no Instant", never.accessTargetWhere(method(Instant.class, "now")));
    }

    /** Calls and method references alike: {@code System::nanoTime} reads the clock too. */
    private static DescribedPredicate<JavaAccess<?>> method(Class<?> owner, String name) {
        return target(owner(type(owner))).and(target(HasName.Predicates.name(name)));
    }

    private static ArchRule knowsOnly(String root, String who, String... whom) {
        return classes()
                .that()
                .resideInAPackage(who)
                .should()
                .onlyDependOnClassesThat(resideOutsideOfPackage(root + "..").or(resideInAnyPackage(whom)));
    }

    private static ArchRule only(String library, String... where) {
        return noClasses()
                .that()
                .resideOutsideOfPackages(where)
                .should()
                .dependOnClassesThat(resideInAPackage(library));
    }

    private record Packages(String root) implements SliceAssignment {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass type) {
            String name = type.getPackageName();
            return name.equals(root) || name.startsWith(root + ".")
                    ? SliceIdentifier.of(name)
                    : SliceIdentifier.ignore();
        }

        @Override
        public String getDescription() {
            return "packages of " + root;
        }
    }
}
