package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.redis.TestRedis;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** {@code palisade demo}. */
@Execution(ExecutionMode.CONCURRENT)
class DemoIT {
    private static final Pattern GRANTED = Pattern.compile("is granted stock/42, fencing token [.]{3}(\\d+)");

    private static final Pattern LINK =
            Pattern.compile("^The picture: (file:///.*/target/demo/pause-race[a-z-]*\\.html)$", Pattern.MULTILINE);

    private static List<String> tokens(String out) {
        List<String> tokens = new ArrayList<>();
        Matcher granted = GRANTED.matcher(out);
        while (granted.find()) {
            tokens.add(granted.group(1));
        }
        return tokens;
    }

    @Test
    void theGuardRefusesTheLateWriteByNameOfBothTokens() throws Exception {
        DemoRun demo = DemoRun.of();

        assertThat(demo.code()).as(demo.toString()).isZero();
        List<String> tokens = tokens(demo.out());
        assertThat(tokens).hasSize(2);
        assertThat(Long.parseLong(tokens.get(0))).isLessThan(Long.parseLong(tokens.get(1)));
        assertThat(demo.out())
                .contains("TOKEN_STALE, token ..." + tokens.get(0) + " presented, ..." + tokens.get(1) + " is the mark")
                .contains("in stock: 39");
        assertThat(page(demo.out()))
                .contains("lost its lock; B wrote 39; A\\u0027s late write of 38 with token ...", " was refused.")
                .contains("\"violations\":[]");
    }

    /** The page that is printed as a link. */
    private static String page(String out) throws IOException {
        Matcher link = LINK.matcher(out);
        assertThat(link.find()).as(out).isTrue();
        return Files.readString(Path.of(URI.create(link.group(1))));
    }

    @Test
    void withItsLocksInRedisItIsTheSame() throws Exception {
        DemoRun demo = DemoRun.of("--store", TestRedis.get().uri());

        assertThat(demo.code()).as(demo.toString()).isZero();
        List<String> tokens = tokens(demo.out());
        assertThat(tokens).hasSize(2);
        assertThat(demo.out())
                .contains("locks in Redis")
                .contains(
                        "TOKEN_STALE, token ..." + tokens.get(0) + " presented, ..." + tokens.get(1) + " is the mark");
    }

    @Test
    void securedItIsTheSameAndThePolicyDenies() throws Exception {
        DemoRun demo = DemoRun.of("--secure");

        assertThat(demo.code()).as(demo.toString()).isZero();
        List<String> tokens = tokens(demo.out());
        assertThat(tokens).hasSize(2);
        assertThat(demo.out())
                .contains("TLS, client certificates, policy")
                .contains("refuses A the lock prices/42, of which the policy has no line: PERMISSION_DENIED")
                .contains("TOKEN_STALE, token ..." + tokens.get(0) + " presented, ..." + tokens.get(1) + " is the mark")
                .contains("in stock: 39");
        assertThat(page(demo.out())).contains("./palisade demo --secure", "\"violations\":[]");
    }

    @Test
    void withoutTheGuardTheLateWriteOverwritesTheObject() throws Exception {
        DemoRun demo = DemoRun.of("--unguarded");

        assertThat(demo.code()).as(demo.toString()).isZero();
        assertThat(demo.out())
                .contains("GUARD OFF", "answers A: written, version", "in stock: 38", "B's sale is lost")
                .doesNotContain("TOKEN_STALE");
        assertThat(page(demo.out()))
                .contains("was applied and B\\u0027s 39 is lost.")
                .contains("\"violations\":[\"Lost update: A\\u0027s late write of 38 (token ");
    }

    @Test
    void aGuardThatAdmitsEverythingIsToldFromOneThatRefuses() throws Exception {
        DemoRun demo = DemoRun.of("--unguarded", "--expect-refusal");

        assertThat(demo.code()).as(demo.toString()).isEqualTo(1);
        assertThat(demo.out()).contains("FAILED: the late write was not refused");
    }

    @Test
    void gatewayRefusesTheLateWriteToAServiceThatKnowsNoLocks() throws Exception {
        DemoRun demo = DemoRun.of("gateway");

        assertThat(demo.code()).as(demo.toString()).isZero();
        List<String> tokens = tokens(demo.out());
        assertThat(tokens).hasSize(2);
        assertThat(demo.out())
                .contains("TOKEN_STALE, token ..." + tokens.get(0) + " presented, ..." + tokens.get(1) + " is the mark")
                .contains("in stock: 39");
    }

    @Test
    void withoutTheGuardTheGatewayLosesTheUpdate() throws Exception {
        DemoRun demo = DemoRun.of("gateway", "--unguarded");

        assertThat(demo.code()).as(demo.toString()).isZero();
        assertThat(demo.out())
                .contains("GUARD OFF", "answers A: written", "in stock: 38", "B's sale is lost")
                .doesNotContain("TOKEN_STALE");
    }

    @Test
    void wrongUsageIsToldInOneLine() throws Exception {
        DemoRun demo = DemoRun.of("--nonsense");

        assertThat(demo.code()).isEqualTo(2);
        assertThat(demo.out()).isEmpty();
        assertThat(demo.err().lines()).singleElement().asString().contains("--nonsense", "--help");
    }
}
