package dev.palisade.contract.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

class SettingsTest {
    @TempDir
    Path directory;

    @Command(name = "server")
    static final class Server implements Runnable {
        @Option(names = "--data-dir", defaultValue = "built-in")
        String dataDir = "";

        @Option(
                names = {"-p", "--port"},
                defaultValue = "7600")
        int port;

        @Option(names = "--allow-remote")
        boolean allowRemote;

        @Option(names = "--config")
        @Nullable
        Path config;

        @Override
        public void run() {}
    }

    @Test
    void aFlagWinsOverTheEnvironmentWhichWinsOverTheFileWhichWinsOverTheDefault() throws Exception {
        Path file = file("server.data-dir=file\n");
        Map<String, String> environment = Map.of("PALISADE_SERVER_DATA_DIR", "environment");
        String config = "--config=" + file;

        assertThat(parse(Map.of()).dataDir).isEqualTo("built-in");
        assertThat(parse(Map.of(), config).dataDir).isEqualTo("file");
        assertThat(parse(environment, config).dataDir).isEqualTo("environment");
        assertThat(parse(environment, config, "--data-dir=flag").dataDir).isEqualTo("flag");
        assertThat(parse(environment, "--data-dir", "flag").dataDir).isEqualTo("flag");
    }

    @Command(name = "gateway")
    static final class Gateway implements Runnable, Settings.OwnConfigFile {
        @Option(names = "--config")
        @Nullable
        Path config;

        @Option(names = "--verbose-log", defaultValue = "built-in")
        String verboseLog = "";

        @Override
        public void run() {}
    }

    /** A file in another format is none of settings; that of the environment still is. */
    @Test
    void commandWithAConfigFileOfItsOwnGetsItUnread() throws Exception {
        Path own = Files.writeString(directory.resolve("gateway.yaml"), "routes:\n  - path: /items\n");
        Gateway gateway = new Gateway();
        CommandLine commandLine = new CommandLine(gateway);
        String[] args = {"--config", own.toString()};
        Settings.apply(
                commandLine,
                args,
                Map.of("PALISADE_CONFIG", file("gateway.verbose-log=file\n").toString()));
        commandLine.parseArgs(args);
        assertThat(gateway.config).isEqualTo(own);
        assertThat(gateway.verboseLog).isEqualTo("file");
    }

    @Command(name = "describe")
    static final class Describe implements Runnable {
        @Option(names = "--server", defaultValue = "built-in")
        String server = "";

        @Override
        public void run() {}
    }

    @Test
    void whereTheLockServerIsHasOneNameForAllCommands() throws Exception {
        Path file = file("server=file\nserver.port=1\n");
        String[] config = {"--config=" + file};
        CommandLine command = new CommandLine(new Describe());
        Settings.apply(command, config, Map.of());
        command.parseArgs();
        assertThat(((Describe) command.getCommand()).server).isEqualTo("file");
        Settings.apply(command, config, Map.of("PALISADE_SERVER", "environment"));
        command.parseArgs();
        assertThat(((Describe) command.getCommand()).server).isEqualTo("environment");
        assertThatThrownBy(() -> Settings.apply(command, config, Map.of("PALISADE_DESCRIBE_SERVER", "other")))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("PALISADE_DESCRIBE_SERVER");
    }

    @Test
    void anEmptyVariableIsNotSet() throws Exception {
        CommandLine command = new CommandLine(new Describe());
        Settings.apply(command, new String[] {"--config=" + file("server=file\n")}, Map.of("PALISADE_SERVER", " "));
        command.parseArgs();
        assertThat(((Describe) command.getCommand()).server).isEqualTo("file");
    }

    @Test
    void theFileIsNamedByTheFlagOrTheEnvironment() throws Exception {
        Path one = file("server.port=1\n");
        Path two = Files.writeString(directory.resolve("two.properties"), "server.port=2\n");
        Map<String, String> environment = Map.of(Settings.CONFIG_VARIABLE, one.toString());
        assertThat(parse(environment).port).isEqualTo(1);
        assertThat(parse(environment, "--config", two.toString()).port).isEqualTo(2);
        assertThat(parse(environment, "--config=" + two).port).isEqualTo(2);
        assertThat(parse(Map.of(Settings.CONFIG_VARIABLE, "")).port).isEqualTo(7600);
    }

    @Test
    void switchesAndNumbersComeFromTheFileToo() throws Exception {
        Server server = parse(Map.of(), "--config=" + file("server.allow-remote=true\nserver.port=80\n"));
        assertThat(server.allowRemote).isTrue();
        assertThat(server.port).isEqualTo(80);
    }

    @Test
    void aKeyThatNoOptionHasIsRefusedWithTheNearestName() throws Exception {
        Path file = file("server.prot=80\n");
        assertThatThrownBy(() -> parse(Map.of(), "--config=" + file))
                .isInstanceOf(ParameterException.class)
                .hasMessage(file + ":1: no setting is called 'server.prot'; did you mean server.port?");
    }

    @Test
    void aKeyOfAnotherCommandIsLeftAlone() throws Exception {
        assertThat(parse(Map.of(), "--config=" + file("keys.whatever=1\nserver.port=80\n")).port)
                .isEqualTo(80);
    }

    @Test
    void aKeyOfNoCommandIsRefusedWithItsLine() throws Exception {
        Map<String, String> advice = Map.of(
                "port", "; did you mean server.port?",
                "sever.port", "; did you mean server.port?",
                "objcts.port", "; did you mean objects.port?",
                "other.thing", ", and none is near; remove or rename it",
                ".port", ", and none is near; remove or rename it");
        for (String key : advice.keySet()) {
            Path file = file("# a comment \\\nserver.data-dir=one \\\n  two\n\n" + key + " = 80\n");
            assertThatThrownBy(() -> parse(Map.of(), "--config=" + file))
                    .isInstanceOf(ParameterException.class)
                    .hasMessage(file + ":5: no setting is called '" + key + "'" + advice.get(key));
        }
    }

    @Test
    void valuesGoOnInTheNextLineAsInAnyPropertiesFile() throws Exception {
        Path file = file("! no \\\nserver.data-dir = C:\\\\\\\n   dir\\\\\nserver.port=1\nserver.port:80");
        assertThat(parse(Map.of(), "--config=" + file).dataDir).isEqualTo("C:\\dir\\");
        assertThat(parse(Map.of(), "--config=" + file).port).isEqualTo(80);
    }

    @Test
    void aByteOrderMarkBeforeTheFirstLineIsNoPartOfIt() throws Exception {
        assertThat(parse(Map.of(), "--config=" + file("\uFEFFserver.port=80\n")).port)
                .isEqualTo(80);
        assertThat(parse(Map.of(), "--config=" + file("\uFEFF# ours\nserver.port=81\n")).port)
                .isEqualTo(81);
        assertThat(parse(Map.of(), "--config=" + file("")).port).isEqualTo(7600);
    }

    @Test
    void theCommandsAreThoseOfTheLauncher() throws Exception {
        String launcher = Files.readString(Path.of("../palisade"));
        assertThat(Pattern.compile("(?m)^ {2}([a-z-]+) {2,}\\S")
                        .matcher(launcher)
                        .results()
                        .map(line -> line.group(1)))
                .containsExactlyInAnyOrderElementsOf(Settings.COMMANDS);
    }

    @Test
    void whereTheLockServerIsMayStandInTheFileOfThoseThatDoNotAsk() throws Exception {
        assertThat(parse(Map.of(), "--config=" + file("server=elsewhere:1\nserver.port=80\n")).port)
                .isEqualTo(80);
    }

    @Test
    void aValueOfTheWrongKindIsToldWithWhereItStands() throws Exception {
        Path file = file("server.data-dir=x\nserver.port=many\n");
        Map<String, String> environment = Map.of("PALISADE_SERVER_PORT", "few");
        assertThatThrownBy(() -> parse(Map.of(), "--config=" + file))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining(file + ":2: ")
                .hasMessageContaining("many")
                .message()
                .doesNotContain("\n");
        assertThatThrownBy(() -> parse(environment, "--config=" + file))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("environment variable PALISADE_SERVER_PORT: ")
                .hasMessageContaining("few");
        assertThat(parse(environment, "--config=" + file, "--port=1").port)
                .as("a value that does not count")
                .isEqualTo(1);
        assertThatThrownBy(() -> parse(Map.of("PALISADE_SERVER_ALLOW_REMOTE", "maybe")))
                .hasMessageContaining("PALISADE_SERVER_ALLOW_REMOTE");
    }

    @Test
    void anOptionIsNamedWithWhereItsValueCameFrom() throws Exception {
        String config = "--config=" + file("\nserver.port=1\n");
        Map<String, String> environment = Map.of("PALISADE_SERVER_PORT", "2");
        assertThat(named(Map.of())).isEqualTo("--port");
        assertThat(named(Map.of(), config)).isEqualTo("--port (" + config.substring(9) + ":2)");
        assertThat(named(environment, config)).isEqualTo("--port (environment variable PALISADE_SERVER_PORT)");
        assertThat(named(environment, config, "--port=3")).isEqualTo("--port");
    }

    @ParameterizedTest
    @CsvSource({
        "PALISADE_SERVER_PORT, tcp://10.0.0.1:7600",
        "PALISADE_SERVER_PORT, tcp://[fd00::1]:7600",
        "PALISADE_SERVER_SERVICE_HOST, 10.0.0.1",
        "PALISADE_SERVER_SERVICE_HOST, fd00::1",
        "PALISADE_SERVER_SERVICE_PORT, 7600",
        "PALISADE_SERVER_SERVICE_PORT_GRPC, 7600",
        "PALISADE_SERVER_PORT_7600_TCP, tcp://10.0.0.1:7600",
        "PALISADE_SERVER_PORT_7600_TCP_PROTO, tcp",
        "PALISADE_SERVER_PORT_7600_TCP_PORT, 7600",
        "PALISADE_SERVER_PORT_7600_TCP_ADDR, 10.0.0.1",
        "PALISADE_PORT, tcp://10.0.0.1:7600",
        "PALISADE_SERVICE_HOST, 10.0.0.1",
        "PALISADE_PORT_7600_UDP_ADDR, 10.0.0.1",
        "PALISADE_LOCK_SERVER_SERVICE_PORT, 7600"
    })
    void whatKubernetesInjectsForAServiceIsNoSetting(String name, String value) {
        assertThat(parse(Map.of(name, value)).port).isEqualTo(7600);
    }

    @ParameterizedTest
    @CsvSource({
        "PALISADE_SERVER_PROT, 80, ; did you mean PALISADE_SERVER_PORT?",
        "PALISADE_SERVER_DATADIR, /data, ; did you mean PALISADE_SERVER_DATA_DIR?",
        "PALISADE_SEVER_PORT, 80, ; did you mean PALISADE_SERVER_PORT?",
        "PALISADE_HOEM, /data, ; did you mean PALISADE_HOME?",
        "PALISADE_SERVER_SERVICE_HOST, /data, ', and none is near; unset or rename it'",
        "PALISADE_SERVER_PORT_GRPC, tcp://10.0.0.1:7600, ', and none is near; unset or rename it'",
        "PALISADE_SERVR_TTL, 10s, ', and none is near; unset or rename it'"
    })
    void aMisspeltVariableIsRefusedWithTheNearestName(String name, String value, String advice) {
        assertThatThrownBy(() -> parse(Map.of(name, value)))
                .isInstanceOf(ParameterException.class)
                .hasMessage("environment variable " + name + ": no setting is called that" + advice);
    }

    @Test
    void theValueOfAMisspeltVariableIsNotShown() {
        assertThatThrownBy(() -> parse(Map.of("PALISADE_SERVER_PASWORD", "hunter2")))
                .message()
                .doesNotContain("hunter2");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "PALISADE_HOME",
                "PALISADE_JAVA_OPTS",
                "PALISADE_SERVER",
                "PALISADE_SEQUENCER",
                "PALISADE_LEASE",
                "PALISADE_OBJECTS_PORT",
                "PALISADE_FORCE_RELEASE_WHY",
                "PALISADE_TEST_DISK",
                "PALISADES_PORT"
            })
    void variablesOfOtherCommandsAndOfTheLauncherAreLeftAlone(String name) {
        assertThat(parse(Map.of(name, "x")).port).isEqualTo(7600);
    }

    @Test
    void everyMisspeltNameIsToldAtOnce() throws Exception {
        Path file = file("server.prot=80\nsever.port=1\n");
        assertThatThrownBy(() -> parse(Map.of("PALISADE_SERVER_PROT", "1", "PALISADE_HOEM", "x"), "--config=" + file))
                .hasMessageContaining("PALISADE_SERVER_PROT")
                .hasMessageContaining("PALISADE_HOEM")
                .hasMessageContaining(file + ":1: ")
                .hasMessageContaining(file + ":2: ")
                .message()
                .doesNotContain("\n");
    }

    @Test
    void everyValueOfTheWrongKindIsToldAtOnce() throws Exception {
        Path file = file("server.prot=80\nserver.port=many\nserver.allow-remote=perhaps\n");
        assertThatThrownBy(() -> parse(Map.of(), "--config=" + file))
                .hasMessageContaining(file + ":1: ")
                .hasMessageContaining(file + ":2: ")
                .hasMessageContaining("many")
                .hasMessageContaining(file + ":3: ")
                .hasMessageContaining("perhaps")
                .message()
                .doesNotContain("\n");
    }

    private static String named(Map<String, String> environment, String... args) {
        CommandLine line = new CommandLine(new Server());
        Settings.apply(line, args, environment);
        line.parseArgs(args);
        return Settings.named(line.getCommandSpec(), "--port");
    }

    @Test
    void aFileThatCannotBeReadIsRefusedInOneLine() throws Exception {
        assertThatThrownBy(() -> parse(Map.of(), "--config=" + directory.resolve("none")))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("cannot read config file");
        Path broken = file("server.port=\\u00zz\n");
        assertThatThrownBy(() -> parse(Map.of(), "--config=" + broken))
                .isInstanceOf(ParameterException.class)
                .hasMessageContaining("cannot read config file " + broken + ":1");
    }

    @Test
    void fileThatNeverEndsIsRefused() {
        assertThatThrownBy(() -> parse(Map.of(), "--config=/dev/zero"))
                .isInstanceOf(ParameterException.class)
                .hasMessage("config file /dev/zero has more than 1048576 bytes; name a properties file");
    }

    @Test
    void messageRepeatsOnlyTheBeginningOfALongLine() throws Exception {
        String junk = "x".repeat(500_000);
        for (String line : List.of(junk, "server." + junk + "=1", "server.port=" + junk)) {
            Path file = file(line);
            assertThatThrownBy(() -> parse(Map.of(), "--config=" + file))
                    .isInstanceOf(ParameterException.class)
                    .message()
                    .contains(file + ":1", "xxx...")
                    .hasSizeLessThan(1_000);
        }
    }

    private Path file(String content) throws IOException {
        return Files.writeString(directory.resolve("palisade.properties"), content);
    }

    private static Server parse(Map<String, String> environment, String... args) {
        Server server = new Server();
        CommandLine line = new CommandLine(server);
        Settings.apply(line, args, environment);
        line.parseArgs(args);
        return server;
    }
}
