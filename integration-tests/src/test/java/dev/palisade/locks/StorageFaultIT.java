package dev.palisade.locks;

import static dev.palisade.locks.StoredServer.acquire;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The lock server before a disk that fails it: each fault ends in one line and an exit code, and what had been answered
 * stands in the next life (requirement D2).
 */
@Isolated("On a busy machine another sync is the one that fails.")
class StorageFaultIT {
    private static final int CANNOT_START = 3;
    private static final int NOT_DURABLE = 70;

    @TempDir
    Path home = Path.of("set by JUnit");

    private Path mounted = Path.of("");

    @AfterEach
    void unmount() throws Exception {
        if (!mounted.toString().isEmpty()) {
            system("umount", mounted.toString());
        }
    }

    private Path directory() {
        return home.resolve("data");
    }

    private StoredServer server(String... options) throws IOException {
        return StoredServer.start(home, directory(), options);
    }

    private static int system(String... command) throws Exception {
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    private static boolean isInstalled(String command) throws Exception {
        return system("sh", "-c", "command -v " + command + " >/dev/null") == 0;
    }

    private static DescribeReply describe(LocksGrpc.LocksBlockingStub locks, String lock) {
        return locks.describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    // ---- syncs ----

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void aSyncThatFailsOnceEndsTheProcessAndWhatWasAnsweredIsThereAfterwards(int number) throws Exception {
        Strace.assumePresent();
        Map<String, Long> answered = new TreeMap<>();
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            answered.put(
                    "first",
                    locks.acquire(acquire("first", 1).build()).getGranted().getToken());
            long worked;
            try (Strace disk = Strace.failSync(server.pid(), number)) {
                answerUntilCut(locks, answered);
                assertThat(server.exitCode()).isEqualTo(NOT_DURABLE);
                worked = disk.worked();
            }
            // The journal may sync by more than one thread, and strace counts for each.
            assertThat(worked).as("syncs that worked").isGreaterThanOrEqualTo(number - 1);
            assertThat(answered)
                    .as("the first, and one for each sync that worked")
                    .hasSize((int) worked + 1);
            assertThat(server.err())
                    .singleElement()
                    .asString()
                    .contains("cannot make data durable", "Input/output error", "then start again");
        }
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            assertHeld(answered, locks);
            assertThat(locks.acquire(acquire("next", 200).build()).getGranted().getToken())
                    .isGreaterThan(answered.values().stream()
                            .mapToLong(Long::longValue)
                            .max()
                            .orElseThrow());
        }
    }

    private static void answerUntilCut(LocksGrpc.LocksBlockingStub locks, Map<String, Long> answered) {
        try {
            for (int i = 2; i < 100; i++) {
                AcquireReply reply = locks.acquire(acquire("lock " + i, i).build());
                answered.put("lock " + i, reply.getGranted().getToken());
            }
        } catch (StatusRuntimeException cut) {
            assertThat(cut.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        }
    }

    private static void assertHeld(Map<String, Long> answered, LocksGrpc.LocksBlockingStub locks) {
        Map<String, Long> held = new TreeMap<>();
        String token = "";
        do {
            ListReply page = locks.list(ListRequest.newBuilder()
                    .setPageSize(1_000)
                    .setPageToken(token)
                    .build());
            page.getLocksList()
                    .forEach(lock -> held.put(lock.getLock(), lock.getHolders(0).getToken()));
            token = page.getNextPageToken();
        } while (!token.isEmpty());
        assertThat(held).containsAllEntriesOf(answered);
    }

    @Test
    void nothingIsAnsweredBeforeItIsSyncedHoweverLongThatTakes() throws Exception {
        Strace.assumePresent();
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            Granted held = locks.acquire(acquire("held", 1).build()).getGranted();
            try (Strace disk = Strace.slowSyncs(server.pid(), 1_500)) {
                assertThat(disk).isNotNull();
                long asked = System.nanoTime();
                assertThat(locks.acquire(acquire("slow", 2).build()).hasGranted())
                        .isTrue();
                assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThan(Duration.ofMillis(1_500));
                Future<AcquireReply> cut = LocksGrpc.newFutureStub(server.channel())
                        .acquire(acquire("cut", 3).build());
                server.kill();
                assertThat(cut)
                        .failsWithin(House.PATIENCE)
                        .withThrowableOfType(ExecutionException.class)
                        .withMessageContaining("UNAVAILABLE");
            }
            assertThat(held.getToken()).isPositive();
        }
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            assertThat(describe(locks, "held").getHoldersTotal()).isEqualTo(1);
            assertThat(describe(locks, "slow").getHoldersTotal()).isEqualTo(1);
        }
    }

    @Test
    void aStopOnADiskThatHangsIsBoundedAndASecondOneIsAtOnce() throws Exception {
        Strace.assumePresent();
        try (StoredServer server = server("--drain", "1s")) {
            try (Strace disk = hang(server, 2)) {
                assertThat(disk).isNotNull();
                server.terminate();
                await().atMost(House.PATIENCE).until(() -> !server.err().isEmpty());
            }
            assertThat(server.exitCode()).isZero();
            assertThat(server.err()).singleElement().asString().contains("not drained within 1000 ms");
        }
        try (StoredServer server = server("--drain", "5m")) {
            try (Strace disk = hang(server, 3)) {
                assertThat(disk).isNotNull();
                server.terminate();
                await().atMost(House.PATIENCE).until(() -> server.out().contains("stopping"));
                server.terminate();
                await().atMost(House.PATIENCE).until(() -> !server.err().isEmpty());
            }
            assertThat(server.exitCode()).isEqualTo(143);
            assertThat(server.err()).singleElement().asString().contains("asked to stop a second time");
        }
        try (StoredServer server = server()) {
            assertThat(describe(server.locks(), "answered").getHoldersTotal()).isEqualTo(1);
        }
    }

    /** Leaves the server in the middle of a sync that takes longer than any stop. */
    private static Strace hang(StoredServer server, long request) {
        server.locks().acquire(acquire("answered", 1).build());
        Strace disk = Strace.slowSyncs(server.pid(), 3_600_000);
        Future<AcquireReply> asked = LocksGrpc.newFutureStub(server.channel())
                .acquire(acquire("hangs " + request, request).build());
        // A look is decided in its turn, so one that gets no answer shows that the writer hangs.
        await().atMost(House.PATIENCE).until(() -> {
            try {
                server.locks()
                        .withDeadlineAfter(500, TimeUnit.MILLISECONDS)
                        .describe(
                                DescribeRequest.newBuilder().setLock("answered").build());
                return false;
            } catch (StatusRuntimeException e) {
                return e.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED;
            }
        });
        assertThat(asked.isDone()).isFalse();
        return disk;
    }

    // ---- full disks ----

    /** A disk of its own, of so many MiB. */
    private void mount(int megabytes) throws Exception {
        assumeTrue(
                "root".equals(System.getProperty("user.name")), "skipped: only root can mount a disk that can be full");
        assumeTrue(isInstalled("mount"), "skipped: there is no mount");
        Files.createDirectories(directory());
        assumeTrue(
                system(
                                "mount",
                                "-t",
                                "tmpfs",
                                "-o",
                                "size=" + megabytes + "m",
                                "tmpfs",
                                directory().toString())
                        == 0,
                "skipped: this root may not mount a disk that can be full");
        mounted = directory();
    }

    private void grow(int megabytes) throws Exception {
        assertThat(system(
                        "mount",
                        "-o",
                        "remount,size=" + megabytes + "m",
                        directory().toString()))
                .isZero();
    }

    /** The journal makes two files of 16 MiB before it is used. */
    @Test
    void aDiskWithoutRoomForTheJournalIsToldAndTheHalfMadeFilesDoNotHinderTheNextStart() throws Exception {
        mount(20);
        try (StoredServer server = server()) {
            assertThat(server.exitCode()).isEqualTo(NOT_DURABLE);
            assertThat(server.err()).singleElement().asString().contains("No space left on device", "free space");
            assertThat(server.out()).isEmpty();
        }
        assertThat(directory().resolve("journal")).as("half-made files").isNotEmptyDirectory();
        grow(60);
        try (StoredServer server = server()) {
            assertThat(server.locks().acquire(acquire("a", 1).build()).hasGranted())
                    .isTrue();
            assertThat(server.err()).isEmpty();
        }
    }

    @Test
    void aDiskThatFillsUpEndsTheProcessAndWhatWasAnsweredIsThereAfterwards() throws Exception {
        mount(40);
        Map<String, Long> answered = new ConcurrentHashMap<>();
        try (StoredServer server = server()) {
            fill(server, answered);
            assertThat(server.exitCode()).isEqualTo(NOT_DURABLE);
            assertThat(server.err())
                    .hasSize(2)
                    .allMatch(line -> line.contains("No space left on device") && line.contains("free space"));
            assertThat(server.err().get(0)).as("a warning before").contains("palisade-3.log cannot be made");
        }
        assertThat(answered).as("a journal file was filled").hasSizeGreaterThan(1_000);
        grow(120);
        try (StoredServer server = server()) {
            assertHeld(answered, server.locks());
        }
    }

    private static void fill(StoredServer server, Map<String, Long> answered) throws InterruptedException {
        String long256 = "x".repeat(256);
        Semaphore inFlight = new Semaphore(500);
        AtomicBoolean broken = new AtomicBoolean();
        LocksGrpc.LocksStub locks = LocksGrpc.newStub(server.channel());
        for (int i = 1; i < 200_000 && !broken.get(); i++) {
            inFlight.acquire();
            String lock = i + long256.substring(0, 240);
            locks.acquire(
                    acquire(lock, i).setOwner(long256).setPurpose(long256).build(),
                    new io.grpc.stub.StreamObserver<>() {
                        @Override
                        public void onNext(AcquireReply reply) {
                            answered.put(lock, reply.getGranted().getToken());
                        }

                        @Override
                        public void onError(Throwable failure) {
                            broken.set(true);
                            inFlight.release();
                        }

                        @Override
                        public void onCompleted() {
                            inFlight.release();
                        }
                    });
        }
        assertThat(broken).as("the disk is full").isTrue();
    }

    // ---- directories ----

    @Test
    void aDirectoryThatMayNotBeReadIsToldInOneLine() throws Exception {
        assumeTrue("root".equals(System.getProperty("user.name")), "skipped: only root can be somebody else");
        // Where somebody else may read the jar and write its keys.
        Path jar = Files.copy(StoredServer.jar(), home.resolve("server.jar"));
        Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxrwxrwx"));
        Files.createDirectories(directory());
        Files.setPosixFilePermissions(directory(), PosixFilePermissions.fromString("rwx------"));
        List<String> asNobody = List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
        try (StoredServer server = StoredServer.start(asNobody, jar, home, directory())) {
            assertThat(server.exitCode()).isEqualTo(CANNOT_START);
            assertThat(server.err())
                    .singleElement()
                    .asString()
                    .contains(directory().toString(), "AccessDenied", "check its owner");
        }
        Path own = home.resolve("own");
        try (StoredServer server = StoredServer.start(asNobody, jar, home, own)) {
            assertThat(server.locks().acquire(acquire("a", 1).build()).hasGranted())
                    .as("nobody can run a server otherwise")
                    .isTrue();
        }
    }

    @Test
    void aFileWhereTheDirectoryShouldBeIsToldInOneLine() throws Exception {
        Files.writeString(directory(), "not a directory");
        try (StoredServer server = server()) {
            assertThat(server.exitCode()).isEqualTo(CANNOT_START);
            assertThat(server.err()).singleElement().asString().contains("is not a directory", "--data-dir");
        }
        try (StoredServer server = StoredServer.start(home, directory().resolve("below"))) {
            assertThat(server.exitCode()).isEqualTo(CANNOT_START);
            assertThat(server.err())
                    .singleElement()
                    .asString()
                    .contains(directory().toString(), "cannot be used");
        }
        assertThat(Files.readString(directory())).isEqualTo("not a directory");
    }

    @Test
    void aJournalFileThatWasCutIsRefusedAndNotTouched() throws Exception {
        try (StoredServer server = server()) {
            server.locks().acquire(acquire("a", 1).build());
            server.kill();
        }
        Path file = directory().resolve("journal/palisade-1.log");
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(5 << 20);
        }
        byte[] before = Files.readAllBytes(file);
        try (StoredServer server = server()) {
            assertThat(server.exitCode()).isEqualTo(CANNOT_START);
            assertThat(server.err()).singleElement().asString().contains("was cut", "restore");
        }
        assertThat(Files.readAllBytes(file)).isEqualTo(before);
    }

    /** Somebody puts back the copy of an hour ago: what was promised since is forgotten, and must be refused, not confirmed. */
    @Test
    void aRestoredOldDirectoryIssuesHigherTokensAndConfirmsNothingThatItForgot() throws Exception {
        Path copy = home.resolve("copy");
        Granted before;
        try (StoredServer server = server()) {
            before = server.locks().acquire(acquire("handed over", 1).build()).getGranted();
            server.terminate();
            assertThat(server.exitCode()).isZero();
        }
        assertThat(system("cp", "-a", directory().toString(), copy.toString())).isZero();
        Granted since;
        Granted next;
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            since = locks.acquire(acquire("new", 2).build()).getGranted();
            locks.release(ReleaseRequest.newBuilder()
                    .setLock(before.getLock())
                    .setGrantId(before.getGrantId())
                    .setToken(before.getToken())
                    .setSessionId(StoredServer.session())
                    .build());
            next = locks.acquire(acquire("handed over", 3).build()).getGranted();
            server.kill();
        }
        assertThat(system("rm", "-r", directory().toString())).isZero();
        assertThat(system("mv", copy.toString(), directory().toString())).isZero();
        try (StoredServer server = server()) {
            LocksGrpc.LocksBlockingStub locks = server.locks();
            for (Granted forgotten : List.of(since, next)) {
                assertThat(refused(() -> locks.renew(RenewRequest.newBuilder()
                                .setLock(forgotten.getLock())
                                .setGrantId(forgotten.getGrantId())
                                .setToken(forgotten.getToken())
                                .setSessionId(StoredServer.session())
                                .build())))
                        .isEqualTo("NOT_HOLDER");
            }
            assertThat(locks.acquire(acquire("after", 4).build()).getGranted().getToken())
                    .isGreaterThan(Math.max(since.getToken(), next.getToken()));
        }
    }

    private static String refused(Runnable call) {
        try {
            call.run();
            return "nothing was refused";
        } catch (StatusRuntimeException e) {
            return Rejections.ofThrowable(e).map(why -> why.reason().name()).orElse(String.valueOf(e.getMessage()));
        }
    }
}
