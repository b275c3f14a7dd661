package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Mode;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.Grants;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** The command as a user meets it: in a process of its own. */
class MainTest {
    @TempDir
    Path home = Path.of("set by JUnit");

    @Test
    void itServesStopsWithZeroAndItsLogCanBeRead() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0", "--object-bytes-max", "16777216")) {
            int port = process.port();
            KeysetFile keys = KeysetFile.open(home.resolve("keys/sequencers.json"));
            ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port)
                    .usePlaintext()
                    .build();
            Metadata headers = new Metadata();
            SequencerHeader.put(
                    headers, keys.sign(Grants.sequencer(Grants.ISSUER, "orders/42", Mode.EXCLUSIVE, 34, 1)));
            assertThat(ObjectsGrpc.newBlockingStub(channel)
                            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                            .put(PutObjectRequest.newBuilder()
                                    .setKey("orders/42")
                                    .setContent(ByteString.copyFrom(new byte[16 << 20]))
                                    .build())
                            .getApplied())
                    .isTrue();
            assertThat(HealthGrpc.newBlockingStub(channel)
                            .check(HealthCheckRequest.newBuilder()
                                    .setService("palisade.v1.Objects")
                                    .build())
                            .getStatus())
                    .isEqualTo(ServingStatus.SERVING);
            channel.shutdownNow();

            ObjectsProcess.Ended second = run("--port", "0");
            assertThat(second.code()).isEqualTo(3);
            assertThat(second.err()).singleElement().asString().contains("in use by another process");

            ObjectsProcess.Ended ended = process.stop();
            assertThat(ended.code()).isZero();
            assertThat(ended.err()).isEmpty();
        }
        ObjectsProcess.Ended log = run("log", "--json");
        assertThat(log.code()).isZero();
        assertThat(log.out())
                .singleElement()
                .asString()
                .contains("\"operation\":\"PUT\"", "\"token\":34", "\"key\":\"orders/42\"", "\"size_bytes\":16777216");
        assertThat(run("log").out()).singleElement().asString().contains("PUT orders/42 token=34");

        ObjectsProcess.Ended otherBinding = run("--port", "0", "--lock-template", "{key:1}");
        assertThat(otherBinding.code()).isEqualTo(3);
        assertThat(otherBinding.err()).singleElement().asString().contains("lock-template '{key}', not '{key:1}'");
    }

    /** The system gives a process's file lock up when the process closes any channel of the file. */
    @Test
    void aDirectoryThatWasAskedForTwiceInOneProcessIsStillLockedForOthers() throws Exception {
        Path directory = home.resolve("objects");
        try (DataDirectory held = DataDirectory.hold(directory)) {
            assertThat(held).isNotNull();
            assertThatThrownBy(() -> DataDirectory.hold(directory)).hasMessageContaining("in use by another process");
            ObjectsProcess.Ended other = run("--port", "0");
            assertThat(other.code()).isEqualTo(3);
            assertThat(other.err()).singleElement().asString().contains("in use by another process");
        }
        try (DataDirectory next = DataDirectory.hold(directory)) {
            assertThat(next).isNotNull();
        }
    }

    @Test
    void oldCallsAreDroppedAndTheLogSaysSo() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0")) {
            process.port();
            assertThat(process.stop().code()).isZero();
        }
        try (DataDirectory data = DataDirectory.holdExisting(home.resolve("objects"));
                Connection connection = DriverManager.getConnection(data.jdbcUrl(), "", "");
                Statement statement = connection.createStatement()) {
            statement.execute("INSERT INTO applied (applied_at, resource, operation, object_key, mode, token, grant_id,"
                    + " version, size_bytes, sha256)"
                    + " VALUES (TIMESTAMP '2020-01-01 00:00:00', 'a', 'PUT', 'a', '', 0, '', 1, 0, '')");
        }
        assertThat(run("log").out()).singleElement().asString().contains("PUT a ");
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0")) {
            process.port();
            process.awaitError("old calls of the applied-log were dropped");
            assertThat(process.stop().code()).isZero();
        }
        assertThat(run("log").out())
                .singleElement()
                .asString()
                .startsWith("dropped: 1 older calls up to number ")
                .contains("applied until 2020-01-01")
                .endsWith("(--log-age-max, --log-rows-max)");
        assertThat(run("log", "--json").out())
                .singleElement()
                .asString()
                .startsWith("{\"dropped\":1,\"last_seq\":")
                .contains("\"last_at\":\"2020-01-01");
    }

    @Test
    void withTheGuardOffItSaysSoLoudly() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0", "--guard", "off")) {
            process.port();
            ObjectsProcess.Ended ended = process.stop();
            assertThat(ended.err()).singleElement().asString().contains("THE GUARD IS OFF");
        }
    }

    static Stream<Arguments> misuse() {
        return Stream.of(
                Arguments.of(List.of("--port", "70000"), "--port is 70000"),
                Arguments.of(List.of("--port", "x"), "--port"),
                Arguments.of(List.of("--bogus"), "--bogus"),
                Arguments.of(List.of("--host", "0.0.0.0"), "--insecure"),
                Arguments.of(List.of("--allow-remote"), "--allow-remote is now called --insecure"),
                Arguments.of(List.of("--tls-cert", "server.pem"), "--tls-cert needs --tls-key too"),
                Arguments.of(List.of("--guard", "maybe"), "use enforce or off"),
                Arguments.of(List.of("--lock-template", "{name}"), "'{name}'"),
                Arguments.of(List.of("--object-bytes-max", "16777217"), "--object-bytes-max"),
                Arguments.of(List.of("--lock-wait", "5"), "'5' is not a time"),
                Arguments.of(List.of("--lock-wait", "90m"), "--lock-wait"),
                Arguments.of(List.of("--log-age-max", "59m"), "--log-age-max is 59m"),
                Arguments.of(List.of("--log-age-max", "87601h"), "use 1h to 87600h"),
                Arguments.of(List.of("--log-rows-max", "999"), "--log-rows-max is 999"),
                Arguments.of(
                        List.of("--port", "0", "--jdbc-url", "jdbc:mysql://127.0.0.1/x"),
                        "jdbc:postgresql: or jdbc:h2:"),
                Arguments.of(List.of("--jdbc-password", "x"), "PALISADE_OBJECTS_JDBC_PASSWORD"));
    }

    @ParameterizedTest
    @MethodSource
    void misuse(List<String> arguments, String told) {
        PrintStream before = System.err;
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        try {
            // In this process: it ends before it touches anything.
            assertThat(Main.run(arguments.toArray(String[]::new))).isEqualTo(2);
        } finally {
            System.setErr(before);
        }
        assertThat(err.toString(StandardCharsets.UTF_8).lines())
                .singleElement()
                .asString()
                .startsWith("palisade objects: ")
                .contains(told);
    }

    @ParameterizedTest
    @CsvSource({
        "--host, 127.0.0.1",
        "--port, 7610",
        "--issuer, palisade",
        "--lock-template, {key}",
        "--object-bytes-max, 1048576",
        "--lock-wait, 5s",
        "--log-age-max, 720h",
        "--log-rows-max, 10000000",
        "--guard, enforce",
        "--jdbc-user, ''",
        "--jdbc-password, ''",
    })
    void everyDefaultIsAsDocumented(String option, String value) {
        CommandSpec command = new CommandLine(new Main()).getCommandSpec();
        assertThat(command.findOption(option).defaultValue()).isEqualTo(value);
    }

    @Test
    void aConfigFileSetsWhatTheCommandLineDoesNot() throws Exception {
        Path config = Files.writeString(home.resolve("palisade.properties"), "objects.port=70000\n");
        ObjectsProcess.Ended ended = run("--config", config.toString());
        assertThat(ended.code()).isEqualTo(2);
        assertThat(ended.err()).singleElement().asString().contains("--port (" + config + ":1) is 70000");
    }

    @Test
    void aProcessTellsMisuseTheSameWay() throws Exception {
        ObjectsProcess.Ended ended = run("--host", "0.0.0.0");
        assertThat(ended.code()).isEqualTo(2);
        assertThat(ended.err()).singleElement().asString().contains("--insecure");
        assertThat(ended.out()).isEmpty();
    }

    @Test
    void databaseIsItsOwnersAlone() throws Exception {
        Path directory = home.resolve("objects");
        startAndStop();
        assertThat(permissions(directory)).isEqualTo("rwx------");
        assertThat(permissions(directory.resolve("objects.mv.db"))).isEqualTo("rw-------");
        Files.setPosixFilePermissions(directory.resolve("objects.mv.db"), PosixFilePermissions.fromString("rw-r--r--"));
        startAndStop();
        assertThat(permissions(directory.resolve("objects.mv.db"))).isEqualTo("rw-------");
    }

    private void startAndStop() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0")) {
            assertThat(process.port()).isPositive();
        }
    }

    private static String permissions(Path path) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
    }

    @Test
    void aDirectoryWithOtherFilesIsLeftAlone() throws Exception {
        Path directory = Files.createDirectory(home.resolve("mine"));
        Files.writeString(directory.resolve("PALISADE-STORE"), "a lock server's");
        assertCannotStart("holds other files (PALISADE-STORE)", "--data-dir", directory.toString());
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).hasSize(1);
        }
    }

    @Test
    void aDirectoryThatIsNoneIsToldInOneLine() throws Exception {
        Path file = Files.writeString(home.resolve("file"), "x");
        assertCannotStart("is not a directory", "--data-dir", file.toString());
        assertCannotStart("cannot be made", "--data-dir", file.resolve("below").toString());
        assertCannotStart("';'", "--data-dir", home.resolve("a;b").toString());
        assertThat(run("log", "--data-dir", home.resolve("nothing").toString()).err())
                .singleElement()
                .asString()
                .startsWith("palisade objects log: no object storage in");
    }

    @Test
    void aDamagedOrVanishedDatabaseIsNeverReset() throws Exception {
        try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0")) {
            process.port();
            assertThat(process.stop().code()).isZero();
        }
        Path database = home.resolve("objects/objects.mv.db");
        byte[] noise = "not a database ".repeat(2_000).getBytes(StandardCharsets.UTF_8);
        Files.write(database, noise);
        assertCannotStart("nothing was changed");
        assertThat(Files.readAllBytes(database)).isEqualTo(noise);
        Files.write(database, new byte[0]);
        assertCannotStart("missing or empty");
        assertThat(Files.size(database)).isZero();
        Files.delete(database);
        assertCannotStart("missing or empty");
        assertThat(database).doesNotExist();
    }

    @Test
    void aKeysetThatOthersCanReadIsToldInOneLine() throws Exception {
        Path keyset = home.resolve("keyset.json");
        Files.writeString(keyset, "{}");
        assertCannotStart("keyset", "--keyset", keyset.toString());
    }

    /** A keyset that was made here would verify nothing that a lock server signs for a group. */
    @Test
    void groupsKeysetIsNotMade() throws Exception {
        Path none = home.resolve("none.json");
        assertCannotStart(none + " does not exist", "--keyset", none.toString(), "--audience", "payments");
        assertThat(none).doesNotExist();
        assertThat(Commands.run(new Main(), "--audience", "two words")).isEqualTo(Commands.USAGE);
        assertThat(Commands.run(new Main(), "--previous-keyset", "old.json")).isEqualTo(Commands.USAGE);
    }

    @Test
    void aDatabaseThatIsNotThereIsToldInOneLineWithoutItsPassword() throws Exception {
        ObjectsProcess.Ended ended =
                run("--port", "0", "--jdbc-url", "jdbc:postgresql://127.0.0.1:1/x?password=hidden");
        assertThat(ended.code()).isEqualTo(3);
        assertThat(ended.err()).singleElement().asString().doesNotContain("hidden");
    }

    @Test
    void aTakenPortIsToldInOneLine() throws Exception {
        try (java.net.ServerSocket taken = new java.net.ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
            assertCannotStart(
                    "choose another with --host and --port", "--port", Integer.toString(taken.getLocalPort()));
        }
    }

    private void assertCannotStart(String told, String... arguments) throws Exception {
        ObjectsProcess.Ended ended = run(Stream.concat(Stream.of(arguments), Stream.of("--issuer", "palisade"))
                .toArray(String[]::new));
        assertThat(ended.code()).as(ended.toString()).isEqualTo(3);
        assertThat(ended.err())
                .singleElement()
                .asString()
                .startsWith("palisade objects: ")
                .contains(told);
    }

    private ObjectsProcess.Ended run(String... arguments) throws IOException, InterruptedException {
        try (ObjectsProcess process = ObjectsProcess.launch(home, arguments)) {
            return process.awaitEnd();
        }
    }
}
