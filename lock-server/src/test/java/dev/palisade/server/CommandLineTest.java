package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.CheckSequencerRequest;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.embedded.EmbeddedConfig;
import dev.palisade.server.store.embedded.EmbeddedStore;
import dev.palisade.server.store.log.LoggedStore;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class CommandLineTest {
    private record Misuse(int exitCode, List<String> words, Map<String, String> environment, List<String> arguments) {
        static Misuse usage(String words, String... arguments) {
            return new Misuse(2, List.of(words), Map.of(), List.of(arguments));
        }

        static Misuse cannotStart(String words, String... arguments) {
            return new Misuse(3, List.of(words), Map.of(), List.of(arguments));
        }

        /** A misuse that is told before anything is opened. */
        boolean needsNoProcess() {
            return exitCode == Commands.USAGE
                    && environment.isEmpty()
                    && !arguments.isEmpty()
                    && !arguments.get(0).equals("serve");
        }

        int run() {
            String[] rest = arguments.subList(1, arguments.size()).toArray(new String[0]);
            return arguments.get(0).equals("server")
                    ? Commands.run(new ServerCommand(), rest)
                    : Commands.run(new KeysCommand(), rest);
        }

        Misuse with(String name, String value) {
            return new Misuse(exitCode, words, Map.of(name, value), arguments);
        }
    }

    private static Misuse store(String words, String uri) {
        return Misuse.usage(words, "server", "--store", uri);
    }

    private static Misuse shared(String words, String... more) {
        List<String> arguments = new ArrayList<>(List.of("server", "--store", "redis://h"));
        arguments.addAll(List.of(more));
        return Misuse.usage(words, arguments.toArray(new String[0]));
    }

    @Test
    @Timeout(300) // A command that does start would run for ever in this process.
    void misuseIsToldInOneLine(@TempDir Path home) throws Exception {
        Path file = Files.writeString(home.resolve("file"), "x");
        Path foreign = Files.createDirectory(home.resolve("foreign"));
        Files.writeString(foreign.resolve("photo.jpg"), "x");
        Path shared = Files.writeString(
                home.resolve("shared.json"), SequencerKeys.generate().toJson());
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rw-r--r--"));
        Path corrupt = Files.writeString(home.resolve("corrupt.json"), "{\"primaryKeyId\": 7}\n{");
        Files.setPosixFilePermissions(corrupt, PosixFilePermissions.fromString("rw-------"));
        Path typo = Files.writeString(home.resolve("typo.properties"), "server.prot=1\n");
        Path badValue = Files.writeString(home.resolve("bad.properties"), "server.port=many\n");
        Path badRange = Files.writeString(home.resolve("range.properties"), "server.grace=10m\n");
        Path escape = Files.writeString(home.resolve("escape.properties"), "server.port=\\u12\n");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            List<Misuse> table = List.of(
                    Misuse.usage("--prot", "server", "--prot", "1"),
                    Misuse.usage("--port", "server", "--port", "many"),
                    Misuse.usage("0 to 65535", "server", "--port", "65536"),
                    Misuse.usage("0 to 65535", "server", "--port", "-1"),
                    Misuse.usage("--grace", "server", "--grace", "301s"),
                    Misuse.usage("not a time", "server", "--grace", "soon"),
                    Misuse.usage("--locks-max", "server", "--locks-max", "0"),
                    Misuse.usage("--drain", "server", "--drain", "301s"),
                    Misuse.usage("--issuer", "server", "--issuer", "two words"),
                    Misuse.usage("--insecure", "server", "--host", "0.0.0.0"),
                    Misuse.usage(
                            "--admin-host 0.0.0.0 can be reached",
                            "server",
                            "--admin-port",
                            "0",
                            "--admin-host",
                            "0.0.0.0"),
                    Misuse.usage("--admin-port is 65536; use 0 to 65535", "server", "--admin-port", "65536"),
                    Misuse.cannotStart(
                            "choose another with --admin-host and --admin-port",
                            "server",
                            "--port",
                            "0",
                            "--admin-port",
                            "" + taken.getLocalPort()),
                    Misuse.usage("--advertise is for a store that servers share", "server", "--advertise", "a:1"),
                    store("redis://HOST:PORT, rediss:// for TLS", "jdbc:postgresql://127.0.0.1/locks"),
                    store("redis-sentinel://HOST,HOST#PRIMARY, redis-cluster://HOST,HOST or", "reds://h"),
                    store("or postgresql://HOST:PORT/DATABASE", "127.0.0.1:7679"),
                    store("--store names several servers", "redis://a,b"),
                    store("--store does not name the database", "postgresql://h"),
                    Misuse.usage("--claim is 900ms; use 1s to 10s", "server", "--claim", "900ms"),
                    Misuse.usage("--claim is for a store that servers share", "server", "--claim", "3s"),
                    shared("--advertise is 'here'; use HOST:PORT", "--advertise", "here"),
                    shared("--advertise is 'a:65536'; use HOST:PORT", "--advertise", "a:65536"),
                    shared("[HOST]:PORT for IPv6, a PORT from 1 to 65535", "--advertise", "a:0"),
                    shared("--advertise is [::]:7600, to which no client can", "--advertise", "[::]:7600"),
                    Misuse.usage("--after-loss is for a store that servers share", "server", "--after-loss", "resume"),
                    Misuse.usage("--from-functions is for a store in Redis", "server", "--from-functions"),
                    shared("--from-functions and --init contradict", "--from-functions", "--init"),
                    shared("clients cannot connect to 127.0.0.1:0", "--port", "0"),
                    shared("clients cannot connect to 0.0.0.0:7600", "--host", "0.0.0.0", "--insecure"),
                    Misuse.usage("--allow-remote is now called --insecure", "server", "--allow-remote"),
                    Misuse.usage("--users needs --policy too", "server", "--users", "users"),
                    Misuse.usage(
                            "--policy needs --users, --jwt-issuer or --tls-client-ca too",
                            "server",
                            "--policy",
                            "policy"),
                    Misuse.cannotStart(
                            "no-policy does not exist",
                            "server",
                            "--port",
                            "0",
                            "--policy",
                            "no-policy",
                            "--users",
                            "users"),
                    Misuse.usage("--tls-cert needs --tls-key too", "server", "--tls-cert", "server.pem"),
                    Misuse.usage("--tls-key needs --tls-cert too", "server", "--tls-key", "server.key"),
                    Misuse.usage("--tls-client-ca needs --tls-cert too", "server", "--tls-client-ca", "ca.pem"),
                    Misuse.usage(
                            "--tls-client-auth needs --tls-client-ca too", "server", "--tls-client-auth", "optional"),
                    Misuse.usage(
                            "--tls-client-auth optional needs --policy too",
                            "server",
                            "--tls-cert",
                            "server.pem",
                            "--tls-key",
                            "server.key",
                            "--tls-client-ca",
                            "ca.pem",
                            "--tls-client-auth",
                            "optional"),
                    Misuse.cannotStart(
                            "TLS file none.pem does not exist",
                            "server",
                            "--port",
                            "0",
                            "--tls-cert",
                            "none.pem",
                            "--tls-key",
                            file.toString()),
                    Misuse.cannotStart("has no address", "server", "--host", "no-such-host.invalid"),
                    Misuse.usage("surplus", "server", "surplus"),
                    Misuse.usage("cannot read config file", "server", "--config", home + "/none.properties"),
                    Misuse.usage("cannot read config file", "server", "--config", escape.toString()),
                    Misuse.usage("server.prot", "server", "--config", typo.toString()),
                    Misuse.usage("bad.properties:1: ", "server", "--config", badValue.toString()),
                    Misuse.usage("--grace (" + badRange + ":1) is 10m", "server", "--config", badRange.toString()),
                    Misuse.usage(
                                    "--port (environment variable PALISADE_SERVER_PORT) is 70000; use 0 to 65535",
                                    "server")
                            .with("PALISADE_SERVER_PORT", "70000"),
                    Misuse.usage("cannot read config file", "server").with("PALISADE_CONFIG", home + "/none"),
                    Misuse.usage("not a command", "serve"),
                    Misuse.usage("not a command"),
                    Misuse.cannotStart("cannot listen on", "server", "--port", "" + taken.getLocalPort()),
                    Misuse.cannotStart(
                            "has no address", "server", "--port", "0", "--insecure", "--host", "no-such-host.invalid"),
                    Misuse.cannotStart("not a directory", "server", "--port", "0", "--data-dir", file.toString()),
                    Misuse.cannotStart("cannot be used", "server", "--port", "0", "--data-dir", file + "/below"),
                    Misuse.cannotStart("cannot be used", "server", "--port", "0", "--data-dir", "/proc/palisade"),
                    Misuse.cannotStart("photo.jpg", "server", "--port", "0", "--data-dir", foreign.toString()),
                    Misuse.cannotStart("can be used by others", "server", "--port", "0", "--keyset", shared.toString()),
                    Misuse.cannotStart("not a usable keyset", "server", "--port", "0", "--keyset", corrupt.toString()),
                    Misuse.cannotStart("signing keyset", "server", "--port", "0", "--keyset", file + "/keys.json"),
                    Misuse.cannotStart("signing keyset", "server", "--port", "0", "--keyset", foreign.toString()),
                    Misuse.usage("rotate", "keys", "rotate"),
                    Misuse.usage("use list, add, promote, retire or export-public", "keys"),
                    Misuse.cannotStart("does not exist", "keys", "list"),
                    Misuse.cannotStart("not a usable keyset", "keys", "list", "--keyset", corrupt.toString()));
            for (int i = 0; i < table.size(); i++) {
                Misuse misuse = table.get(i);
                String told = misuse.arguments() + " " + misuse.environment();
                int exitCode;
                String err;
                if (misuse.needsNoProcess()) {
                    PrintStream before = System.err;
                    ByteArrayOutputStream captured = new ByteArrayOutputStream();
                    System.setErr(new PrintStream(captured, true, StandardCharsets.UTF_8));
                    try {
                        exitCode = misuse.run();
                    } finally {
                        System.setErr(before);
                    }
                    err = captured.toString(StandardCharsets.UTF_8);
                } else {
                    try (ServerProcess process = ServerProcess.start(
                            home.resolve("home" + i),
                            misuse.environment(),
                            misuse.arguments().toArray(new String[0]))) {
                        exitCode = process.exitCode();
                        err = process.err();
                        assertThat(process.out()).as(told).doesNotContain("listening");
                    }
                }
                assertThat(err.lines().toList()).as(told + ": " + err).hasSize(1);
                assertThat(err).as(told).contains(misuse.words()).startsWith("palisade");
                assertThat(exitCode).as(told).isEqualTo(misuse.exitCode());
            }
        }
    }

    @Test
    void flagsWinOverTheEnvironmentAndTheEnvironmentOverTheFile(@TempDir Path home) throws Exception {
        Path file = Files.writeString(
                home.resolve("palisade.properties"), "server.port=0\nserver.issuer=from-file\nobjects.port=1\n");
        try (ServerProcess server = ServerProcess.start(
                home,
                Map.of("PALISADE_SERVER_ISSUER", "from-environment", "PALISADE_CONFIG", file.toString()),
                "server")) {
            assertThat(server.port()).isPositive();
            assertThat(server.out()).contains("issuer from-environment");
        }
        try (ServerProcess server = ServerProcess.start(
                home.resolve("other"),
                Map.of("PALISADE_SERVER_ISSUER", "from-environment", "PALISADE_CONFIG", file.toString()),
                "server",
                "--issuer=from-flag")) {
            assertThat(server.port()).isPositive();
            assertThat(server.out()).contains("issuer from-flag");
        }
    }

    @Test
    void aSecondServerOnTheSameDirectoryCannotStart(@TempDir Path home) throws Exception {
        try (ServerProcess first = ServerProcess.server(home)) {
            assertThat(first.port()).isPositive();
            try (ServerProcess second = ServerProcess.server(home)) {
                assertThat(second.exitCode()).isEqualTo(3);
                assertThat(second.err()).contains("in use by another lock server");
                assertThat(second.err().lines()).hasSize(1);
            }
            assertThat(first.process.isAlive()).isTrue();
        }
    }

    private static ManagedChannel channel(ServerProcess server) {
        return NettyChannelBuilder.forAddress("127.0.0.1", server.port())
                .usePlaintext()
                .build();
    }

    private static AcquireRequest.Builder acquire(String lock, int session, long wait) {
        byte[] id = new byte[16];
        id[0] = (byte) session;
        return AcquireRequest.newBuilder()
                .setLock(lock)
                .setMode(Mode.EXCLUSIVE)
                .setSessionId(ByteString.copyFrom(id))
                .setTtlMillis(60_000)
                .setWaitMillis(wait)
                .setOwner("session " + session)
                .setRequestId(1);
    }

    /** The system gives a process's file lock up when the process closes any channel of the file. */
    @Test
    void aDirectoryThatWasAskedForTwiceInOneProcessIsStillLockedForOthers(@TempDir Path home) throws Exception {
        Path directory = home.resolve("palisade/server");
        EmbeddedConfig config = EmbeddedConfig.in(directory);
        KeysetFile.openOrCreate(home.resolve("palisade/keys/sequencers.json")); // A used directory needs its keys.
        try (LoggedStore store = open(config)) {
            store.listen(new LockStore.Listener() {
                @Override
                public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {}

                @Override
                public void told() {}
            });
            assertThatThrownBy(() -> open(config)).hasMessageContaining("in use by another lock server");
            try (ServerProcess other = ServerProcess.server(home)) {
                assertThat(other.exitCode()).isEqualTo(3);
                assertThat(other.err()).contains("in use by another lock server");
            }
        }
        try (ServerProcess next = ServerProcess.server(home)) {
            assertThat(next.port()).isPositive();
        }
    }

    private static LoggedStore open(EmbeddedConfig config) throws StoreUnusable {
        return EmbeddedStore.open(config, Limits.DEFAULTS, System::currentTimeMillis, System::nanoTime, 1, why -> {
            throw new AssertionError(why);
        });
    }

    @Test
    void aStoppedServerSaysSoAndItsWaitersKeepTheirPlaces(@TempDir Path home) throws Exception {
        CompletableFuture<Throwable> waiting = new CompletableFuture<>();
        try (ServerProcess server = ServerProcess.server(home)) {
            ManagedChannel channel = channel(server);
            HealthGrpc.HealthBlockingStub health = HealthGrpc.newBlockingStub(channel);
            assertThat(health.check(HealthCheckRequest.getDefaultInstance()).getStatus())
                    .isEqualTo(HealthCheckResponse.ServingStatus.SERVING);
            HealthCheckRequest locks = HealthCheckRequest.newBuilder()
                    .setService(LocksGrpc.SERVICE_NAME)
                    .build();
            assertThat(health.check(locks).getStatus()).isEqualTo(HealthCheckResponse.ServingStatus.SERVING);
            List<HealthCheckResponse.ServingStatus> watched = new java.util.concurrent.CopyOnWriteArrayList<>();
            HealthGrpc.newStub(channel).watch(locks, new StreamObserver<>() {
                @Override
                public void onNext(HealthCheckResponse response) {
                    watched.add(response.getStatus());
                }

                @Override
                public void onError(Throwable failure) {}

                @Override
                public void onCompleted() {}
            });
            LocksGrpc.newBlockingStub(channel).acquire(acquire("a", 1, 0).build());
            LocksGrpc.newStub(channel).acquire(acquire("a", 2, 3_600_000).build(), new StreamObserver<>() {
                @Override
                public void onNext(dev.palisade.proto.v1.AcquireReply reply) {}

                @Override
                public void onError(Throwable failure) {
                    waiting.complete(failure);
                }

                @Override
                public void onCompleted() {}
            });
            await().until(() -> waiters(channel) == 1 && !watched.isEmpty());
            long asked = System.nanoTime();
            server.process.destroy();
            assertThat(server.exitCode()).isZero();
            assertThat(Duration.ofNanos(System.nanoTime() - asked))
                    .as("whoever watches the health is not waited for")
                    .isLessThan(Duration.ofSeconds(4));
            assertThat(server.out().lines().toList()).endsWith("palisade server: stopping", "palisade server: stopped");
            assertThat(server.err().lines()).allMatch(line -> line.contains(" event="));
            await().until(() -> watched.contains(HealthCheckResponse.ServingStatus.NOT_SERVING));
            assertThat(Rejections.ofThrowable(waiting.get(60, TimeUnit.SECONDS))
                            .orElseThrow()
                            .reason())
                    .isEqualTo(Reason.OUTCOME_UNKNOWN);
            channel.shutdownNow();
        }
        try (ServerProcess server = ServerProcess.server(home)) {
            ManagedChannel channel = channel(server);
            assertThat(waiters(channel)).isEqualTo(1);
            channel.shutdownNow();
        }
    }

    private static int waiters(ManagedChannel channel) {
        return LocksGrpc.newBlockingStub(channel)
                .describe(dev.palisade.proto.v1.DescribeRequest.newBuilder()
                        .setLock("a")
                        .build())
                .getWaitersTotal();
    }

    @Test
    void aRunningServerTakesUpAPromotedKeyAndAnOversizeFrameHarmsNobody(@TempDir Path home) throws Exception {
        Path keyset = home.resolve("palisade/keys/sequencers.json");
        KeysetFile payments = KeysetFile.openOrCreate(home.resolve("payments.json"), SequencerKeys.Algorithm.ED25519);
        Path groups = Files.writeString(
                home.resolve("groups.conf"), "group payments payments.json\nlocks payments payments/*\n");
        try (ServerProcess server =
                ServerProcess.start(home, Map.of(), "server", "--port", "0", "--guard-groups", groups.toString())) {
            ManagedChannel channel = channel(server);
            LocksGrpc.LocksBlockingStub locks = LocksGrpc.newBlockingStub(channel);
            Granted payment = locks.acquire(acquire("payments/1", 2, 0).build()).getGranted();
            assertThat(payments.verifier("palisade", "payments")
                            .verify(SignedSequencer.of(payment.getSequencer().toByteArray()))
                            .lock())
                    .hasToString("payments/1");
            assertThat(locks.checkSequencer(CheckSequencerRequest.newBuilder()
                                    .setSequencer(payment.getSequencer())
                                    .build())
                            .getAlive())
                    .isTrue();
            assertThat(server.out()).contains("palisade server: guard groups payments (ed25519)\n");
            oversize(channel);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(keyset)))
                    .isEqualTo("rw-------");
            SequencerKeys old = KeysetFile.open(keyset).keys();
            Granted signedByOld = locks.acquire(acquire("a", 1, 0).build()).getGranted();
            assertThat(keyOf(signedByOld)).isEqualTo(signing(old));
            assertThat(keys(home, 0, "add").lines()).hasSize(3);
            String added =
                    keys(home, 0, "list").lines().reduce((one, last) -> last).orElse("");
            String id = added.substring(0, added.indexOf(' '));
            keys(home, 3, "retire", Integer.toUnsignedString(signing(old)));
            keys(home, 3, "promote", "12");
            keys(home, 2, "promote", "twelve");
            keys(home, 2, "promote");
            keys(home, 2, "list", id);
            keys(home, 0, "promote", id);
            await().atMost(5, TimeUnit.SECONDS)
                    .until(() -> Integer.toUnsignedString(keyOf(
                                    locks.acquire(acquire("a", 1, 0).build()).getGranted()))
                            .equals(id));
            assertThat(keys(home, 0, "retire", Integer.toUnsignedString(signing(old)))
                            .lines())
                    .as("the file and one key")
                    .hasSize(2);
            channel.shutdownNow();
        }
    }

    /** Its leases were signed with the keyset, and guards have it: a new one in its place would be noticed by nobody here. */
    @Test
    void lostKeysetIsNotMadeAnewInSilence(@TempDir Path home) throws Exception {
        Path keyset = home.resolve("palisade/keys/sequencers.json");
        assertThat(loggedByAWholeRun(home)).contains("event=keyset_made path=" + keyset);
        assertThat(loggedByAWholeRun(home)).doesNotContain("keyset_made");
        Files.delete(keyset);
        try (ServerProcess server = ServerProcess.start(home, Map.of(), "server", "--port", "0")) {
            assertThat(server.exitCode()).isEqualTo(Commands.CANNOT_START);
            assertThat(server.err().lines())
                    .singleElement()
                    .asString()
                    .startsWith("palisade server: signing keyset " + keyset + " does not exist, but the leases in ")
                    .contains("restore it from a copy", "palisade keys add --keyset " + keyset + " makes a new one");
        }
        assertThat(keyset).doesNotExist();
        assertThat(keys(home, 0, "add").lines())
                .as("the file and one key, which signs")
                .hasSize(2);
        assertThat(loggedByAWholeRun(home)).contains("event=epoch_started");
    }

    private static String loggedByAWholeRun(Path home) throws Exception {
        try (ServerProcess server = ServerProcess.server(home)) {
            server.port();
            server.process.destroy();
            server.exitCode();
            return server.err();
        }
    }

    private static void oversize(ManagedChannel channel) throws Exception {
        CompletableFuture<Throwable> ended = new CompletableFuture<>();
        StreamObserver<ClientFrame> out = LocksGrpc.newStub(channel).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {}

            @Override
            public void onError(Throwable failure) {
                ended.complete(failure);
            }

            @Override
            public void onCompleted() {}
        });
        out.onNext(ClientFrame.newBuilder()
                .addCalls(
                        Call.newBuilder().setAcquire(AcquireRequest.newBuilder().setLock("x".repeat(2 << 20))))
                .build());
        Throwable failure = ended.get(60, TimeUnit.SECONDS);
        assertThat(Status.fromThrowable(failure).getCode())
                .isIn(Status.Code.RESOURCE_EXHAUSTED, Status.Code.CANCELLED, Status.Code.UNKNOWN);
        assertThat(Rejections.ofThrowable(failure)).isEmpty();
    }

    private static int signing(SequencerKeys keys) {
        return keys.keys().stream()
                .filter(SequencerKeys.KeyInfo::signs)
                .findFirst()
                .orElseThrow()
                .id();
    }

    /** The tag's prefix names the key: one byte of version, four of the id. */
    private static int keyOf(Granted granted) {
        byte[] bytes = SignedSequencer.of(granted.getSequencer().toByteArray()).toBytes();
        return java.nio.ByteBuffer.wrap(bytes, bytes.length - 36, 4).getInt();
    }

    private static String keys(Path home, int exitCode, String... arguments) throws IOException, InterruptedException {
        String[] line = new String[arguments.length + 1];
        line[0] = "keys";
        System.arraycopy(arguments, 0, line, 1, arguments.length);
        try (ServerProcess process = ServerProcess.start(home, Map.of(), line)) {
            assertThat(process.exitCode()).as(process.err()).isEqualTo(exitCode);
            assertThat(process.err().lines()).hasSize(exitCode == 0 ? 0 : 1);
            return process.out();
        }
    }
}
