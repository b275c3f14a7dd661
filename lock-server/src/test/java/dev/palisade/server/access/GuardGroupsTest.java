package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.LockName;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GuardGroupsTest {
    private static final Path FILE = Path.of("/etc/palisade/groups.conf");
    private static final String GROUPS = """
            # which guards protect what
            group payments keys/payments.json
            group reports  /elsewhere/the reports.json
            locks payments payments/*
            locks payments two words*

            locks reports  payments/reports/*
            locks reports  payments
            locks payments payments/reports/7
            accept-previous reports
            """;

    @ParameterizedTest
    @CsvSource({
        "payments/1, payments",
        "payments/, payments",
        "payments, reports",
        "payment, ''",
        "payments/reports/1, reports",
        "payments/reports/7, payments",
        "payments/reports/71, reports",
        "payments/reports, payments",
        "two words, payments",
        "other, ''",
    })
    void longestPatternThatFitsALockDecides(String lock, String group) throws Exception {
        assertThat(GuardGroups.parse(FILE, GROUPS)
                        .of(new LockName(lock))
                        .map(GuardGroups.Group::name)
                        .orElse(""))
                .isEqualTo(group);
    }

    @Test
    void oneStarIsForAllLocks() throws Exception {
        GuardGroups groups = GuardGroups.parse(FILE, "group all all.json\nlocks all *\nlocks all orders\n");
        assertThat(groups.of(new LockName("any"))).isPresent();
        assertThat(GuardGroups.none().of(new LockName("any"))).isEmpty();
    }

    @Test
    void keysetsAreRelativeToTheFile() throws Exception {
        assertThat(GuardGroups.parse(FILE, GROUPS).all())
                .containsExactly(
                        new GuardGroups.Group(2, "payments", Path.of("/etc/palisade/keys/payments.json"), false),
                        new GuardGroups.Group(3, "reports", Path.of("/elsewhere/the reports.json"), true));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "group a a.json;locks b x* | 2: no group is called b; there are a",
                "group payments a.json;locks paymets x* | 2: no group is called paymets; did you mean payments?",
                "locks a x* | 1: no group is called a; write one: group payments payments.json",
                "group a a.json;locks a a*;accept-previous b | 3: no group is called b; there are a",
                "group a a.json;group b b.json;locks a x*;locks b x* | 4: pattern 'x*' is in line 3 already, for group a; a lock belongs to one group",
                "group a a.json;locks a x;locks a x | 3: pattern 'x' is in line 2 already, for group a; a lock belongs to one group",
                "group a a.json;group a b.json;locks a x | 2: group a is there already; a group has one keyset",
                "group a a.json | 1: group a has no locks; write some: locks a a/*",
                "group a*b a.json;locks a*b x | 1: audience is 'a*b'; use 1 to 64 letters, digits and . _ -",
                "group a | 1: a name and the file of a keyset follow group: group payments payments.json",
                "group a a.json;locks a | 2: a group and a pattern of lock names follow locks: locks payments payments/*",
                "group a a.json;locks a x*y | 2: pattern 'x*y' has a * before its end; a pattern is a lock name, or its beginning and *",
                "group a a.json;locks a x;accept-previous a b | 3: one group follows accept-previous: accept-previous payments",
                "gruop a a.json | 1: 'gruop' begins no line; did you mean group?",
            })
    void mistakeHasOneLine(String text, String mistake) {
        FileMistakes mistakes = Objects.requireNonNull(
                catchThrowableOfType(FileMistakes.class, () -> GuardGroups.parse(FILE, text.replace(';', '\n'))));
        assertThat(mistakes.lines()).contains(FILE + ":" + mistake);
    }

    @Test
    void fileWithoutAGroupIsAMistake() {
        assertThat(catchThrowableOfType(FileMistakes.class, () -> GuardGroups.parse(FILE, "# nothing\n")))
                .hasMessage(FILE + " has no group; write one: group payments payments.json");
    }
}
