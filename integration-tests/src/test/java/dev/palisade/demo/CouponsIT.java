package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code palisade demo coupons}. */
@Isolated("Five hundred clients: beside others some of them give up.")
class CouponsIT {
    private static final Pattern ISSUED =
            Pattern.compile("^issued +(\\d+), by the storage's applied-log$", Pattern.MULTILINE);

    private static int issued(DemoRun demo) {
        Matcher issued = ISSUED.matcher(demo.out());
        assertThat(issued.find()).as(demo.toString()).isTrue();
        return Integer.parseInt(issued.group(1));
    }

    @Test
    void withTheGuardExactlyAHundredAreIssuedAndEverybodyIsTold() throws Exception {
        DemoRun demo = DemoRun.of("coupons");

        assertThat(demo.code()).as(demo.toString()).isZero();
        assertThat(issued(demo)).isEqualTo(100);
        assertThat(demo.out())
                .contains(
                        "told      100 have a coupon, 400 sold out, 0 nothing",
                        "pauses    9 placed between read and write, in 8 processes; 9 late writes refused",
                        "Exactly 100 coupons were issued.")
                .doesNotContain("FAILED");
    }

    @Test
    void aGuardThatAdmitsEverythingOversellsAndIsToldFromOneThatRefuses() throws Exception {
        DemoRun demo =
                DemoRun.of("coupons", "--unguarded", "--expect-exact", "--coupons=8", "--clients=24", "--processes=2");

        assertThat(demo.code()).as(demo.toString()).isEqualTo(1);
        assertThat(issued(demo)).isGreaterThan(8);
        assertThat(demo.out())
                .contains("GUARD OFF", "; 0 late writes refused", "customers were issued one of 8 coupons")
                .doesNotContain("Exactly");
    }

    @Test
    void withoutTheGuardMoreAreIssuedThanThereAre() throws Exception {
        DemoRun demo = DemoRun.of("coupons", "--unguarded", "--coupons=8", "--clients=24", "--processes=2");

        assertThat(demo.code()).as(demo.toString()).isZero();
        assertThat(issued(demo)).isGreaterThan(8);
        assertThat(demo.out()).contains("Without a guard " + issued(demo) + " customers have one of 8 coupons");
    }

    @ParameterizedTest
    @CsvSource({
        "--processes=1, --processes is 1; use 2 to 8",
        "--processes=9, --processes is 9; use 2 to 8",
        "--coupons=31, --coupons is 31; use at least 32 for 8 processes",
        "--clients=199, --clients is 199; use at least two",
        "--clients=2001, --clients is 2001; use at least two",
        "--coupons=many, --coupons",
        "--expect-refusal, --expect-refusal"
    })
    void wrongUsageIsToldInOneLine(String option, String message) throws Exception {
        DemoRun demo = DemoRun.of("coupons", option);

        assertThat(demo.code()).as(demo.toString()).isEqualTo(2);
        assertThat(demo.out()).isEmpty();
        assertThat(demo.err().lines()).singleElement().asString().contains(message, "--help");
    }
}
