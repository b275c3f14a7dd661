package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PolicyTest {
    private static final Path FILE = Path.of("policy.conf");
    private static final String POLICY = """
            # who may what

            group ops alice uri:spiffe://example.org/ops dns:ops.example.org
            allow @ops   *                 *
            allow web    acquire,describe  orders/*
            allow web    acquire-shared    prices
            allow web    describe          two words
            allow *      describe          status
            allow dns:guard guard          *
            allow watch  operate,describe  *
            allow team   *                 team/*
            """;

    private static List<String> mistakes(String text) {
        return Objects.requireNonNull(
                        catchThrowableOfType(FileMistakes.class, () -> Policy.parse(FILE, text)), "no mistake")
                .lines();
    }

    @ParameterizedTest
    @CsvSource({
        "alice, acquire, anything, true",
        "alice, operate, '', true",
        "uri:spiffe://example.org/ops, force-release, x, true",
        "dns:ops.example.org, revoke, x, true",
        "ops, acquire, x, false",
        "web, acquire, orders/1, true",
        "web, acquire-shared, orders/1, true",
        "web, acquire, orders/, true",
        "web, acquire, orders, false",
        "web, acquire, Orders/1, false",
        "web, acquire, prices, false",
        "web, acquire-shared, prices, true",
        "web, acquire-shared, prices2, false",
        "web, describe, prices, false",
        "web, describe, two words, true",
        "web, describe, status, true",
        "web, revoke, orders/1, false",
        "web, force-release, orders/1, false",
        "web, guard, orders/1, false",
        "web, operate, '', false",
        "we, acquire, orders/1, false",
        "nobody, describe, status, true",
        "nobody, describe, status2, false",
        "dns:guard, guard, any, true",
        "guard, guard, any, false",
        "watch, operate, '', true",
        "watch, acquire, a, false",
        "dns:guard, operate, '', false",
        "team, force-release, team/1, true",
        "team, operate, '', false"
    })
    void theFirstLineThatAllowsDecidesAndNothingElseDoes(String who, String verb, String lock, boolean allowed)
            throws Exception {
        Policy policy = Policy.parse(FILE, POLICY);
        Verb asked = Verb.of(verb).orElseThrow();
        assertThat(policy.rights(who).may(asked, lock)).isEqualTo(allowed);
        assertThat(policy.explain(who, asked, lock)).startsWith(allowed ? "allowed: " : "denied: ");
    }

    @Test
    void theDecisionIsExplainedWithItsLine() throws Exception {
        Policy policy = Policy.parse(FILE, POLICY);
        assertThat(policy.explain("web", Verb.ACQUIRE, "orders/1"))
                .isEqualTo(
                        "allowed: web acquire 'orders/1', by policy.conf:5: allow web    acquire,describe  orders/*");
        assertThat(policy.explain("web", Verb.REVOKE, "orders/1"))
                .isEqualTo(
                        "denied: web revoke 'orders/1', no line of policy.conf allows it; lines for web: 5, 6, 7, 8");
        assertThat(Policy.parse(FILE, "").explain("web", Verb.OPERATE, ""))
                .isEqualTo("denied: web operate, no line of policy.conf allows it; no line is for web");
    }

    @Test
    void allMistakesAreReportedAtOnceEachWithItsLine() {
        assertThat(mistakes("""
                                alow web acquire *
                                allow web aquire *
                                allow web acquire
                                allow @opps * *
                                group ops alice
                                group ops bob
                                group lonely
                                allow we/b acquire *
                                allow web acquire a*b
                                allow web operate orders/*
                                allow web acquire,,describe *
                                """))
                .satisfiesExactly(
                        line -> assertThat(line).isEqualTo("policy.conf:1: 'alow' begins no line; did you mean allow?"),
                        line -> assertThat(line).isEqualTo("policy.conf:2: 'aquire' is no verb; did you mean acquire?"),
                        line -> assertThat(line).startsWith("policy.conf:3: a principal, verbs and a pattern"),
                        line -> assertThat(line).isEqualTo("policy.conf:4: no group is called opps; did you mean ops?"),
                        line -> assertThat(line).startsWith("policy.conf:6: group ops is there already"),
                        line -> assertThat(line).startsWith("policy.conf:7: a group has a name and members"),
                        line -> assertThat(line).startsWith("policy.conf:8: 'we/b' names no client"),
                        line -> assertThat(line).startsWith("policy.conf:9: pattern 'a*b' has a * before its end"),
                        line -> assertThat(line).startsWith("policy.conf:10: operate is of the whole server"),
                        line -> assertThat(line).startsWith("policy.conf:11: '' is no verb; use acquire, "));
        assertThat(mistakes("x\n".repeat(50))).hasSize(21).last().isEqualTo("policy.conf: 30 more mistakes");
        assertThat(mistakes("allow web acquire " + "ä".repeat(129))).hasSize(1);
    }

    @Test
    void theHighestOfTheLimitsOfAPrincipalCounts() throws Exception {
        Policy policy = Policy.parse(FILE, """
                limit @batch sessions=50
                group batch nightly report
                limit *      sessions=10 requests-per-second=100
                limit report sessions=20 requests-per-second=1000000 locks=7
                limit report locks=5 waiters=3
                """);
        assertThat(limits(policy, "web")).containsExactly(10, 100, 0, 0);
        assertThat(limits(policy, "nightly")).containsExactly(50, 100, 0, 0);
        assertThat(limits(policy, "report")).containsExactly(50, 1_000_000, 7, 3);
        assertThat(limits(Policy.parse(FILE, POLICY), "web")).containsExactly(0, 0, 0, 0);
    }

    private static List<Integer> limits(Policy policy, String principal) {
        Rights rights = policy.rights(principal);
        return List.of(rights.sessionsMax(), rights.requestsPerSecondMax(), rights.locksMax(), rights.waitersMax());
    }

    @Test
    void mistakesOfLimitsHaveTheirLines() {
        assertThat(mistakes("""
                limit web
                limit we/b sessions=1
                limit web sessions=0
                limit web sesions=5
                limit web sessions=5 sessions=6
                limit @gone requests-per-second=1000001
                limit @gone sessions=1
                """))
                .containsExactly(
                        "policy.conf:1: a principal and limits follow limit: limit web sessions=100"
                                + " requests-per-second=500",
                        "policy.conf:2: 'we/b' names no client; use the name of a token (letters, digits and . _ -),"
                                + " dns:NAME or uri:URI of a certificate, jwt:SUBJECT of a JWT, @GROUP, or *",
                        "policy.conf:3: 'sessions=0' is no limit; write NAME=NUMBER with sessions,"
                                + " locks, waiters, requests-per-second and 1 to 1000000",
                        "policy.conf:4: 'sesions=5' is no limit; write NAME=NUMBER with sessions,"
                                + " locks, waiters, requests-per-second and 1 to 1000000",
                        "policy.conf:5: sessions is in the line twice; give it once",
                        "policy.conf:6: 'requests-per-second=1000001' is no limit; write NAME=NUMBER with"
                                + " sessions, locks, waiters, requests-per-second and 1 to 1000000",
                        "policy.conf:7: no group is called gone; write one: group gone alice bob");
    }

    @Test
    void whatAReaderCannotSeeOrMustNotIsNotRepeated() {
        String token = UserTokens.PREFIX + "A".repeat(43);
        assertThat(mistakes("\uFEFFallow web acquire x\n# x\rallow evil * *\n" + token + "\nallow " + token
                        + " acquire x\nallow dns:Web.example.org acquire x\r\n"))
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("policy.conf:1: the file begins with a byte order mark"),
                        line -> assertThat(line).startsWith("policy.conf:2: the line has a carriage return"),
                        line -> assertThat(line)
                                .startsWith("policy.conf:3: a token is in")
                                .doesNotContain("AAAA"),
                        line -> assertThat(line)
                                .startsWith("policy.conf:4: a token is in")
                                .doesNotContain("AAAA"),
                        line -> assertThat(line).startsWith("policy.conf:5:").endsWith("write dns:web.example.org"));
    }

    /** It is done for each principal, on a thread that serves all. */
    @Test
    void manyLinesCostInProportion() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 100_000; i++) {
            lines.append("allow * describe t/")
                    .append(i)
                    .append("\nallow * describe u/")
                    .append(i % 10)
                    .append("*\n");
        }
        Rights rights = Policy.parse(FILE, lines.toString()).rights("web");
        assertThat(rights.visible("")).hasSize(100_010);
        assertThat(rights.visible("u/1")).hasSize(1);
    }

    /** A client whose rights are others has to open a new stream. */
    @Test
    void rightsAreTheSameWhateverTheOrderOfLinesAndTheLimits() throws Exception {
        Rights rights = Policy.parse(FILE, "allow web acquire a\nallow web describe b\n")
                .rights("web");
        assertThat(Policy.parse(
                                FILE,
                                "limit * sessions=1\nallow web describe b\nallow web acquire a\nallow web acquire a\n")
                        .rights("web"))
                .isEqualTo(rights)
                .hasSameHashCodeAs(rights);
        assertThat(Policy.parse(FILE, "allow web acquire a\n").rights("web")).isNotEqualTo(rights);
    }

    @Test
    void namesThatNobodyHasAreReported() throws Exception {
        String hash = "0".repeat(63);
        UserTokens users =
                UserTokens.parse(Path.of("users"), "web " + hash + "1 2026-01-01\nalice " + hash + "2 2026-01-01\n");
        assertThat(Policy.parse(FILE, """
                                group ops alice carol uri:spiffe://example.org/ops
                                group idle alice
                                allow @ops * *
                                allow wob acquire x
                                allow ops acquire x
                                allow * describe *
                                allow dns:guard guard *
                                limit jwt:build locks=1
                                limit nightly locks=1
                                """).unused(users))
                .containsExactly(
                        "policy.conf:1: no user has the name carol; make its token with palisade users add carol, or"
                                + " remove it",
                        "policy.conf:2: no line is for @idle; write one, or remove the group",
                        "policy.conf:4: no user has the name wob; did you mean web?",
                        "policy.conf:5: no user has the name ops; did you mean @ops?",
                        "policy.conf:9: no user has the name nightly; make its token with palisade users add nightly,"
                                + " or remove it");
        assertThat(Policy.parse(FILE, "group ops alice\nallow @ops * *\nallow web acquire x\n")
                        .unused(users))
                .isEmpty();
    }
}
