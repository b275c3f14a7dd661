package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.AppliedCheck;
import dev.palisade.grants.Grants;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kill -9} of the real process on the URL it ships with: what was acknowledged is there, whole. */
class KilledTest {
    private static final int ROUNDS = 4;
    private static final int WRITERS = 6;
    private static final int ACKNOWLEDGED_BEFORE_THE_KILL = 150;

    @TempDir
    Path home = Path.of("set by JUnit");

    /** The last acknowledged put of a key. */
    private record Acknowledged(long version, long token, String content) {}

    private final Map<String, Acknowledged> acknowledged = new ConcurrentHashMap<>();
    private final AtomicLong tokens = new AtomicLong();

    @Test
    void everyAcknowledgedPutOutlivesKillNineWithItsMarkAndItsLine() throws Exception {
        KeysetFile keys = KeysetFile.openOrCreate(home.resolve("keys/sequencers.json"));
        for (int round = 0; round < ROUNDS; round++) {
            try (ObjectsProcess process = ObjectsProcess.launch(home, "--port", "0")) {
                writeUntilKilled(process, keys);
            }
            examine();
        }
    }

    private void writeUntilKilled(ObjectsProcess process, KeysetFile keys) throws Exception {
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", process.port())
                .usePlaintext()
                .build();
        ExecutorService writers = Executors.newFixedThreadPool(WRITERS);
        AtomicInteger count = new AtomicInteger();
        List<Future<?>> ends = new ArrayList<>();
        for (int writer = 0; writer < WRITERS; writer++) {
            String key = "key-" + writer;
            ends.add(writers.submit(() -> writeUntilItFails(ObjectsGrpc.newBlockingStub(channel), keys, key, count)));
        }
        await().atMost(Duration.ofSeconds(60)).until(() -> count.get() >= ACKNOWLEDGED_BEFORE_THE_KILL);
        process.kill();
        for (Future<?> end : ends) {
            end.get(60, TimeUnit.SECONDS);
        }
        writers.shutdown();
        channel.shutdownNow();
    }

    private void writeUntilItFails(
            ObjectsGrpc.ObjectsBlockingStub stub, KeysetFile keys, String key, AtomicInteger count) {
        try {
            while (true) {
                long token = tokens.incrementAndGet();
                Sequencer sequencer = Grants.sequencer(Grants.ISSUER, key, Mode.EXCLUSIVE, token, token);
                Metadata headers = new Metadata();
                SequencerHeader.put(headers, keys.sign(sequencer));
                String content = key + " by " + token;
                PutObjectReply reply = stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers))
                        .withDeadlineAfter(30, TimeUnit.SECONDS)
                        .put(PutObjectRequest.newBuilder()
                                .setKey(key)
                                .setContent(ByteString.copyFromUtf8(content))
                                .build());
                acknowledged.put(key, new Acknowledged(reply.getVersion(), token, content));
                count.incrementAndGet();
            }
        } catch (StatusRuntimeException e) {
            // Killed: this one may or may not be applied.
        }
    }

    private void examine() throws SQLException {
        String url = "jdbc:h2:file:" + home.resolve("objects") + "/objects;WRITE_DELAY=0;IFEXISTS=TRUE";
        try (Connection connection = DriverManager.getConnection(url, "", "")) {
            List<AppliedLog.Row> log = new ArrayList<>();
            AppliedLog.readAll(connection, log::add);
            assertThat(acknowledged).hasSize(WRITERS);
            acknowledged.forEach((key, last) -> {
                List<AppliedLog.Row> rows =
                        log.stream().filter(row -> row.key().equals(key)).toList();
                examine(connection, key, last, rows);
            });
        }
    }

    private static void examine(Connection connection, String key, Acknowledged last, List<AppliedLog.Row> rows) {
        assertThat(AppliedCheck.firstViolation(rows.stream()
                        .map(row -> new AppliedCheck.Applied(
                                row.operation().writes(), Mode.EXCLUSIVE, row.token(), row.grantHex()))
                        .toList()))
                .isEmpty();
        assertThat(rows).as("versions without a hole").hasSize((int)
                rows.get(rows.size() - 1).version());
        assertThat(rows)
                .as("the acknowledged line of %s", key)
                .anySatisfy(row -> assertThat(List.of(row.version(), row.token(), row.sha256()))
                        .isEqualTo(List.of(
                                last.version(),
                                last.token(),
                                AppliedLog.sha256(last.content().getBytes(StandardCharsets.UTF_8)))));
        // Data, mark and the newest line are of one and the same put: at most the unanswered one after the
        // acknowledged.
        AppliedLog.Row newest = rows.get(rows.size() - 1);
        assertThat(newest.version()).isBetween(last.version(), last.version() + 1);
        assertThat(number(connection, "SELECT version FROM objects WHERE object_key = ?", key))
                .isEqualTo(newest.version());
        assertThat(number(connection, "SELECT token FROM objects WHERE object_key = ?", key))
                .isEqualTo(newest.token());
        assertThat(number(connection, "SELECT x_token FROM palisade_fence WHERE resource = ?", key))
                .isEqualTo(newest.token());
    }

    private static long number(Connection connection, String sql, String key) {
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            select.setString(1, key);
            try (ResultSet row = select.executeQuery()) {
                assertThat(row.next()).as(sql).isTrue();
                return row.getLong(1);
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
