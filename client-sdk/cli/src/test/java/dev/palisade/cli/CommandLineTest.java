package dev.palisade.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonParser;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ServerFrame;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.Model.UsageMessageSpec;

/** Misuse, told before any server is asked. */
class CommandLineTest {
    /**
     * What {@link Main#main} does for all loggers. Referred to, because the JDK drops an unreferenced logger with its
     * level.
     */
    private static final Logger OF_CLIENT = Logger.getLogger("dev.palisade.client");

    @BeforeAll
    static void logNothing() {
        OF_CLIENT.setLevel(Level.OFF);
    }

    @AfterAll
    static void logAgain() {
        OF_CLIENT.setLevel(null);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "descirbe x              | palisade: 'descirbe' is not a command; did you mean describe?",
                "chaso                   | palisade: 'chaso' is not a command; did you mean chaos?",
                "servr                   | palisade: 'servr' is not a command; did you mean server?",
                "policy                  | palisade: 'policy' is a command of the launcher, palisade, and not of this jar",
                "run                     | palisade run: LOCK is missing",
                "run x                   | palisade run: no command; put it after --: palisade run x -- COMMAND",
                "run x --                | palisade run: no command; put it after --: palisade run x -- COMMAND",
                "run x ls /tmp           | palisade run: put the command after --: palisade run x -- ls /tmp",
                "run x y -- ls           | palisade run: unexpected argument 'y'; put the command after --",
                "run -- ls               | palisade run: LOCK is missing",
                "run x --wiat 3s -- ls   | palisade run: there is no option --wiat; did you mean --wait?",
                "run x --wait 3 -- ls    | palisade run: --wait: '3' is not a time; write 500ms, 10s, 5m or 24h",
                "run x --ttl 6m -- ls    | palisade run: --ttl is 6m; use 1s to 5m",
                "run x --ttl 100ms -- ls | palisade run: --ttl is 100ms; use 1s to 5m",
                "run x --kill-after 60s -- ls | palisade run: --kill-after is 1m; use 0s to 59s",
                "run x --lock-delay 61s -- ls | palisade run: --lock-delay is 61s; use 0s to 1m",
                "run x --at-least-for 61m -- ls | palisade run: --at-least-for is 61m; use 0s to 1h",
                "run x --at-least-for 1m --shared -- ls | palisade run: --at-least-for needs a lock that is not --shared",
                "run x --on-lost HUP -- ls    | palisade run: --on-lost is 'HUP'; use TERM or KILL",
                "run x --server here -- ls    | palisade run: server address \"\"here\"\" is not host:port",
                "describe                | palisade describe: LOCK is missing",
                "describe x y            | palisade describe: unexpected argument 'y'",
                "list --server x:y       | palisade list: server address \"\"x:y\"\" is not host:port",
                "list --server http://a:7600       | palisade list: server address \"\"http://a:7600\"\" is not host:port; write it without http://",
                "run x --server https://a:7600 -- ls | palisade run: server address \"\"https://a:7600\"\" is not host:port; write it without https://",
                "force-release x         | palisade force-release: --why is missing",
                "force-release x --all --token 3 --why y | palisade force-release: --token ends one lease and --all",
                "force-release x --token y --why y | palisade force-release: --token is 'y'; use a whole number",
                "request-release x       | palisade request-release: --why is missing",
                "check                   | palisade check: no SEQUENCER, and $PALISADE_SEQUENCER is not set",
                "completion fish         | palisade completion: unsupported argument 'fish'; use bash or zsh",
                "completion              | palisade completion: missing argument; use bash or zsh",
                "check AAAA*             | palisade check: sequencer text is not base64url",
                "describe x --timeout 0s | palisade describe: --timeout is 0s; use 100ms to 1h",
                "run x --timeout 2h -- ls | palisade run: --timeout is 2h; use 100ms to 1h",
                "run x --on-release-request STAY -- ls | palisade run: --on-release-request is 'STAY'; use TERM or IGNORE",
                "acquire                 | palisade acquire: LOCK is missing",
                "acquire x --ttl 6m      | palisade acquire: --ttl is 6m; use 1s to 5m",
                "acquire x --wait 25h    | palisade acquire: --wait is 25h; use 0s to 24h",
                "acquire x --at-least-for 61m | palisade acquire: --at-least-for is 61m; use 0s to 1h",
                "acquire x --shared --at-least-for 1m | palisade acquire: --at-least-for needs a lock that is not --shared",
                "renew                   | palisade renew: no LEASE, and $PALISADE_LEASE is not set",
                "release AAAA            | palisade release: LEASE is not a credential of a lease",
                "watch x --count 0       | palisade watch: --count is 0; use 1 or more",
                "watch x --interval 1ms  | palisade watch: --interval is 1ms; use 50ms to 1h",
                "force-release x --token 0 --why y | palisade force-release: --token is 0; use a token"
            })
    void usageErrorIsOneLine(String line, String expected) {
        Ran ran = run(line.strip().split(" +"));
        assertThat(ran.err()).startsWith(expected.replace("\"\"", "\"")).doesNotContain("Exception");
        assertThat(ran.err().lines()).hasSize(1);
        assertThat(ran.code()).isEqualTo(2);
    }

    @Test
    void tooLongLockNameIsRejectedBeforeAnyCall() {
        Ran ran = run("run", "x".repeat(257), "--", "ls");
        assertThat(ran.err()).contains("lock name has 257 bytes, the most is 256");
        assertThat(ran.code()).isEqualTo(2);
    }

    @Test
    void undecodableArgumentIsRejected() {
        Ran ran = run("run", "m\ufffd\ufffdller", "--", "ls");
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.err())
                .hasLineCount(1)
                .startsWith("palisade: the argument 'm\ufffd\ufffdller' cannot be read as UTF-8");
        String[] umlaut = {"describe", "m\u00fcller"};
        assertThat(UndecodableArgs.error(umlaut, "UTF-8")).isEmpty();
        assertThat(UndecodableArgs.error(umlaut, "ISO-8859-1"))
                .hasValueSatisfying(error -> assertThat(error).endsWith("set LC_ALL=C.UTF-8"));
        assertThat(UndecodableArgs.error(new String[] {"describe", "x"}, "ANSI_X3.4-1968"))
                .isEmpty();
    }

    @Test
    void commandNameIsEscapedToOneLine() {
        Ran ran = run("run", "x", "--", "no\nsuch\u001b[31m");
        assertThat(ran.err()).hasLineCount(1).contains("'no\\u{a}such\\u{1b}[31m' was not found");
    }

    @Test
    void versionIsPrinted() {
        Ran ran = run("--version");
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).hasLineCount(1).startsWith("palisade ");
        assertThat(run("version").out()).hasLineCount(1).startsWith("palisade ").contains("(Java ");
        assertThat(JsonParser.parseString(run("version", "--json").out())
                        .getAsJsonObject()
                        .keySet())
                .containsExactly("version", "java");
    }

    @Test
    void usageErrorWithJsonOptionIsJson() {
        Ran ran = run("describe", "--json");
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.out()).isEmpty();
        assertThat(JsonParser.parseString(ran.err()))
                .hasToString("{\"error\":\"LOCK is missing (see --help)\",\"exit_code\":2}");
    }

    @Test
    void refusedConnectionIsReportedAtOnceInPlainWords() {
        Ran ran = run("describe", "x", "--server", "127.0.0.1:1", "--timeout", "1h");
        assertThat(ran.code()).isEqualTo(3);
        assertThat(ran.err())
                .isEqualTo("palisade describe: no reply from the lock server at 127.0.0.1:1 (connection refused);"
                        + " check --server, or start one: palisade server\n");
        Ran json = run("acquire", "x", "--server", "127.0.0.1:1,127.0.0.1:2", "--timeout", "1h", "--json");
        assertThat(json.code()).isEqualTo(3);
        assertThat(JsonParser.parseString(json.err())
                        .getAsJsonObject()
                        .get("error")
                        .getAsString())
                .isEqualTo("no lock server replied (127.0.0.1:1: connection refused, 127.0.0.1:2: connection refused)");
    }

    @Test
    void runReportsRefusedConnectionAtOnce() {
        Ran ran = run("run", "x", "--server", "127.0.0.1:1", "--timeout", "1h", "--", "true");
        assertThat(ran.code()).isEqualTo(123);
        assertThat(ran.err())
                .startsWith("palisade run: no reply from the lock server at 127.0.0.1:1 (connection refused)")
                .hasLineCount(1);
    }

    @Test
    @Timeout(20)
    void runEndsAtOnceWhereOnlyStandbysAreNamed() throws Exception {
        Rejection standby = new Rejection(Reason.NOT_ACTIVE, "scripted", Map.of(Rejection.ACTIVE, "lock-3:7600"));
        Server server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create())
                .addService(new LocksGrpc.LocksImplBase() {
                    @Override
                    public StreamObserver<ClientFrame> session(StreamObserver<ServerFrame> out) {
                        out.onError(Rejections.toStatus(standby));
                        return new DiscardingObserver();
                    }

                    @Override
                    public void describe(DescribeRequest request, StreamObserver<DescribeReply> out) {
                        out.onError(Rejections.toStatus(standby));
                    }
                })
                .build()
                .start();
        try {
            String address = "127.0.0.1:" + server.getPort();
            for (String wait : List.of("0s", "10m")) {
                Ran ran = run("run", "x", "--server", address, "--wait", wait, "--timeout", "1h", "--", "true");
                assertThat(ran.code()).isEqualTo(123);
                assertThat(ran.err())
                        .isEqualTo("palisade run: --server names standbys only (" + address
                                + "); add the active lock server: lock-3:7600\n");
            }
        } finally {
            server.shutdownNow();
        }
    }

    private static final class DiscardingObserver implements StreamObserver<ClientFrame> {
        @Override
        public void onNext(ClientFrame frame) {}

        @Override
        public void onError(Throwable failure) {}

        @Override
        public void onCompleted() {}
    }

    @Test
    void missingCommandIsReportedBeforeAnyAcquire() {
        assertThat(run("run", "x", "--server", "127.0.0.1:1", "--", "no-such-command")
                        .code())
                .isEqualTo(127);
        assertThat(run("run", "x", "--server", "127.0.0.1:1", "--", "/etc/passwd")
                        .code())
                .isEqualTo(126);
    }

    @Test
    void argumentsAfterDashesBelongToTheCommand() {
        Ran ran = run("run", "x", "--server", "127.0.0.1:1", "--", "no-such-command", "--config", "none", "--help");
        assertThat(ran.err()).contains("'no-such-command' was not found");
        assertThat(ran.out()).isEmpty();
    }

    @Test
    void helpOfRunListsExitCodesAndExamples() {
        Ran ran = run("run", "--help");
        assertThat(ran.code()).isZero();
        assertThat(ran.out())
                .contains(
                        "palisade run [OPTION...] LOCK -- COMMAND",
                        "119  rejected",
                        "122  lock lost",
                        "palisade run backup/db1 --");
    }

    /** A command that fails in it leaves its classes out of the archive, and no start says so. */
    @Test
    void everyCommandOfTheTrainingRunSucceeds() throws Exception {
        Ran ran = captured(TrainingRun::run);
        assertThat(ran.err()).isEmpty();
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).contains("training: held", "PALISADE_LEASE=");
    }

    @Test
    void helpFitsATerminalOf80ColumnsAndBreaksNoSentenceItself() {
        Verbs.all().getSubcommands().forEach((verb, line) -> {
            UsageMessageSpec help = line.getCommandSpec().usageMessage();
            assertThat(Stream.of(help.description(), help.footer()).flatMap(Stream::of))
                    .as("palisade %s --help", verb)
                    .allMatch(text -> text.length() <= 80 || text.endsWith("."));
        });
    }

    @Test
    void helpNamesHoldersClientsAndOperators() {
        Verbs.all()
                .getSubcommands()
                .forEach((verb, line) -> assertThat(line.getUsageMessage())
                        .as("palisade %s --help", verb)
                        .doesNotContainPattern("(?i)\\b(who|whoever|(no|some|any|every)(body|one))\\b"));
    }

    @Test
    void completionKnowsEveryVerbAndTheOptionsOfRun() {
        Ran ran = run("completion", "bash");
        assertThat(ran.out())
                .contains("complete -F")
                .contains(
                        "run describe list history explain watch acquire renew release request-release force-release sessions status check completion "
                                + "version server objects gateway keys users policy demo chaos bench")
                .contains("'--lock-delay'");
        assertThat(run("completion", "zsh").out()).contains("bashcompinit");
    }

    /** What the launcher does not name ends up here, and what it names in its help must be known here. */
    @Test
    void launcherKnowsTheSameCommands() throws Exception {
        String launcher = Files.readString(Path.of("../../palisade"));
        assertThat(Verbs.all().getSubcommands().keySet())
                .containsExactlyInAnyOrderElementsOf(found("(?m)^ {2}([a-z-]+) {2,}\\S", launcher));
        assertThat(Verbs.ELSEWHERE)
                .containsExactlyInAnyOrderElementsOf(found("(?m)^ {2}([a-z |-]+)\\) jar=", launcher).stream()
                        .flatMap(label -> Stream.of(label.split(" \\| ")))
                        .toList());
    }

    private static List<String> found(String pattern, String text) {
        return Pattern.compile(pattern)
                .matcher(text)
                .results()
                .map(each -> each.group(1))
                .toList();
    }

    private record Ran(int code, String out, String err) {}

    /** Named in a string: the class is not public. */
    @Test
    void warningOfTwoActiveServersIsPrintedInOneLine() throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        Main.printingTo(new PrintStream(printed, true, StandardCharsets.UTF_8))
                .publish(new LogRecord(Level.WARNING, "servers a and b\nare both active"));
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .isEqualTo("palisade: servers a and b\\u{a}are both active" + System.lineSeparator());
        assertThat(Class.forName(Main.ACTIVE_SERVERS.getName())).isNotNull();
    }

    @Test
    void successWithLostOutputHasItsOwnExitCode() throws Exception {
        PrintStream errBefore = System.err;
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try (PrintStream full = new PrintStream("/dev/full", StandardCharsets.UTF_8);
                PrintStream fine = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8)) {
            full.println("an answer");
            fine.println("an answer");
            assertThat(Main.exitCode(0, full)).isEqualTo(4);
            assertThat(Main.exitCode(3, full))
                    .as("what went wrong before counts")
                    .isEqualTo(3);
            assertThat(Main.exitCode(0, fine)).isZero();
        } finally {
            System.setErr(errBefore);
        }
        assertThat(err.toString(StandardCharsets.UTF_8))
                .startsWith("palisade: the output could not be written")
                .hasLineCount(1);
    }

    private static Ran run(String... args) {
        try {
            return captured(() -> Main.run(args));
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static Ran captured(Callable<Integer> command) throws Exception {
        PrintStream outBefore = System.out;
        PrintStream errBefore = System.err;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            int code = command.call();
            return new Ran(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(outBefore);
            System.setErr(errBefore);
        }
    }
}
