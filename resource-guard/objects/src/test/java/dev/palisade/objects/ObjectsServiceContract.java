package dev.palisade.objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import dev.palisade.contract.EventLog;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.grants.AppliedCheck;
import dev.palisade.grants.Grants;
import dev.palisade.guard.FencedJdbc;
import dev.palisade.proto.v1.ClaimObjectRequest;
import dev.palisade.proto.v1.ClaimRequest;
import dev.palisade.proto.v1.DeleteObjectReply;
import dev.palisade.proto.v1.DeleteObjectRequest;
import dev.palisade.proto.v1.DescribeMarkReply;
import dev.palisade.proto.v1.DescribeMarkRequest;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.GuardGrpc;
import dev.palisade.proto.v1.ListObjectsReply;
import dev.palisade.proto.v1.ListObjectsRequest;
import dev.palisade.proto.v1.Mark;
import dev.palisade.proto.v1.ObjectEntry;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectReply;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the rpc service promises, on any database it may be given. */
abstract class ObjectsServiceContract {
    private static final ObjectLimits LIMITS = new ObjectLimits(1024, Duration.ofMillis(200));

    private final Grants grants = new Grants();
    private DataSource pool = dataSource();
    private final BoundedExecutor executor = new BoundedExecutor(2, 2);
    private final List<String> events = new CopyOnWriteArrayList<>();
    private final List<ManagedChannel> channels = new ArrayList<>();
    private final List<Server> servers = new ArrayList<>();
    private ObjectsGrpc.ObjectsBlockingStub objects = ObjectsGrpc.newBlockingStub(channel("unused"));

    abstract DataSource dataSource();

    @BeforeEach
    void start() throws Exception {
        pool = dataSource();
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            for (String table : List.of("palisade_fence", "objects", "applied", "palisade_objects_setting")) {
                statement.execute("DROP TABLE IF EXISTS " + table);
            }
        }
        objects = serve("{key:1}", true);
    }

    @AfterEach
    void stop() throws Exception {
        channels.forEach(ManagedChannel::shutdownNow);
        servers.forEach(Server::shutdownNow);
        executor.drain(Duration.ofSeconds(10));
    }

    private ObjectsGrpc.ObjectsBlockingStub serve(String template, boolean guardOn) throws SQLException, IOException {
        FencedJdbc fenced = FencedJdbc.create(pool, grants.verifier());
        fenced.createTable();
        try (Connection connection = pool.getConnection()) {
            Schema.create(connection);
        }
        ObjectStore store =
                new ObjectStore(pool, fenced, grants.verifier(), LockTemplate.parse(template), LIMITS, guardOn);
        String name = "objects-" + servers.size();
        EventLog log = new EventLog(events::add, () -> 0, 3);
        CallDispatcher dispatcher = new CallDispatcher(executor, log, new Refusals(log));
        servers.add(InProcessServerBuilder.forName(name)
                .directExecutor()
                .intercept(new SequencerCapture())
                .addService(new ObjectsService(store, dispatcher, Grants.ISSUER))
                .addService(new MarkService(store, dispatcher, Grants.ISSUER))
                .build()
                .start());
        return ObjectsGrpc.newBlockingStub(channel(name));
    }

    private ManagedChannel channel(String name) {
        ManagedChannel channel =
                InProcessChannelBuilder.forName(name).directExecutor().build();
        channels.add(channel);
        return channel;
    }

    @Test
    void anObjectIsWrittenReadAndDeletedAndItsVersionsRiseAcrossDeletion() {
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 34));
        assertThat(put(holder, "a/1", "one")).isEqualTo(written(true, 1));
        assertThat(put(holder, "a/1", "two")).isEqualTo(written(true, 2));
        GetObjectReply got = get(holder, "a/1");
        assertThat(got.getFound()).isTrue();
        assertThat(got.getContent().toStringUtf8()).isEqualTo("two");
        assertThat(got.getVersion()).isEqualTo(2);
        assertThat(got.getToken()).isEqualTo(34);
        assertThat(got.getGrantId().toByteArray()).isEqualTo(new GrantId(7, 34).toBytes());
        assertThat(holder.delete(DeleteObjectRequest.newBuilder().setKey("a/1").build()))
                .isEqualTo(DeleteObjectReply.newBuilder().setApplied(true).build());
        assertThat(get(holder, "a/1").getFound()).isFalse();
        assertThat(put(holder, "a/1", "three")).isEqualTo(written(true, 4));
    }

    @Test
    void aConditionalWriteIsAppliedOnlyAtItsVersion() {
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 34));
        PutObjectRequest.Builder create = PutObjectRequest.newBuilder()
                .setKey("a/1")
                .setContent(ByteString.copyFromUtf8("x"))
                .setIfVersion(0);
        assertThat(holder.put(create.build())).isEqualTo(written(true, 1));
        assertThat(holder.put(create.build())).isEqualTo(written(false, 1));
        assertThat(holder.put(create.setIfVersion(1).build())).isEqualTo(written(true, 2));
        DeleteObjectRequest.Builder delete = DeleteObjectRequest.newBuilder().setKey("a/1");
        assertThat(holder.delete(delete.setIfVersion(1).build()))
                .isEqualTo(DeleteObjectReply.newBuilder().setVersion(2).build());
        assertThat(holder.delete(delete.setIfVersion(2).build()).getApplied()).isTrue();
        assertThat(holder.delete(delete.setIfVersion(0).build())).isEqualTo(DeleteObjectReply.getDefaultInstance());
        // Gone: "only if there is no such object" holds again.
        assertThat(holder.put(create.setIfVersion(0).build())).isEqualTo(written(true, 4));
    }

    @Test
    void refusalsAreInTheLogAndWhatIsAppliedIsNot() {
        put(with(grants.exclusive("a", 34)), "a/1", "new");
        assertThat(events).isEmpty();
        refused(() -> put(with(grants.exclusive("a", 33)), "a/2", "old"), Reason.TOKEN_STALE);
        refused(() -> claim(guardAs(objects, grants.exclusive("a", 33)), "a"), Reason.TOKEN_STALE);
        refused(() -> put(with(grants.exclusive("b", 33)), "a/2", "old"), Reason.WRONG_RESOURCE);
        assertThat(events)
                .hasSize(3)
                .satisfiesExactly(
                        line -> assertThat(line)
                                .startsWith("event=refused reason=TOKEN_STALE lock=a resource=a presented_token=33"
                                        + " mark_token=34 mark_grant=" + new GrantId(7, 34)
                                        + " superseded_at_millis="),
                        line -> assertThat(line).startsWith("event=refused reason=TOKEN_STALE"),
                        line -> assertThat(line).startsWith("event=refused reason=WRONG_RESOURCE"));
    }

    @Test
    void thirtyThreeAfterThirtyFourIsRefusedAndToldWhy() {
        put(with(grants.exclusive("a", 34)), "a/1", "new");
        Rejection rejection = refused(() -> put(with(grants.exclusive("a", 33)), "a/2", "old"), Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(unfenced("a/2").getFound()).isFalse();
    }

    @Test
    void everyRefusalHasItsReason() {
        SequencerKeys foreign = SequencerKeys.generate();
        SignedSequencer forged =
                foreign.sign(Grants.sequencer(Grants.ISSUER, "a", Mode.EXCLUSIVE, FencingToken.MAX, 1));
        refused(() -> put(objects, "a/1", ""), Reason.SEQUENCER_MISSING);
        refused(() -> get(objects, "a/1"), Reason.SEQUENCER_MISSING);
        refused(() -> put(with(forged), "a/1", ""), Reason.SEQUENCER_INVALID);
        refused(() -> put(withBytes(new byte[600]), "a/1", ""), Reason.SEQUENCER_INVALID);
        refused(() -> put(with(grants.exclusive("b", 1)), "a/1", ""), Reason.WRONG_RESOURCE);
        refused(() -> put(with(grants.shared("a", 1)), "a/1", ""), Reason.MODE_NOT_ALLOWED);
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 1));
        refused(() -> put(holder, "", ""), Reason.MALFORMED_REQUEST);
        refused(() -> put(holder, "a/\n", ""), Reason.MALFORMED_REQUEST);
        refused(() -> put(holder, "a/" + "k".repeat(511), ""), Reason.MALFORMED_REQUEST);
        refused(() -> put(holder, "a/1", "x".repeat(1025)), Reason.LIMIT_EXCEEDED);
        refused(
                () -> holder.put(PutObjectRequest.newBuilder()
                        .setKey("a/1")
                        .setIfVersion(-1)
                        .build()),
                Reason.MALFORMED_REQUEST);
        assertThat(put(holder, "a/" + "k".repeat(510), "x".repeat(1024)).getApplied())
                .isTrue();
    }

    @Test
    void aSharedGrantReadsAndClaimsAndShutsOlderWritersOut() {
        put(with(grants.exclusive("a", 3)), "a/1", "x");
        ObjectsGrpc.ObjectsBlockingStub reader = with(grants.shared("a", 5));
        Mark mark = reader.claim(ClaimObjectRequest.newBuilder().setKey("a/1").build())
                .getMark();
        assertThat(mark.getResource()).isEqualTo("a");
        assertThat(mark.getLock()).isEqualTo("a");
        assertThat(mark.getIssuer()).isEqualTo(Grants.ISSUER);
        assertThat(mark.getExclusiveToken()).isEqualTo(3);
        assertThat(mark.getExclusiveGrantId().toByteArray()).isEqualTo(new GrantId(7, 3).toBytes());
        assertThat(mark.getSharedToken()).isEqualTo(5);
        assertThat(get(reader, "a/1").getFound()).isTrue();
        refused(() -> put(with(grants.exclusive("a", 4)), "a/1", "y"), Reason.TOKEN_STALE);
    }

    @Test
    void aLockIsClaimedByItsNameForAllItsObjects() {
        put(with(grants.exclusive("a", 33)), "a/1", "x");
        Mark mark = claim(guardAs(objects, grants.exclusive("a", 34)), "a");
        assertThat(mark)
                .isEqualTo(Mark.newBuilder()
                        .setResource("a")
                        .setIssuer(Grants.ISSUER)
                        .setLock("a")
                        .setExclusiveToken(34)
                        .setExclusiveGrantId(ByteString.copyFrom(new GrantId(7, 34).toBytes()))
                        .build());
        refused(() -> put(with(grants.exclusive("a", 33)), "a/1", "late"), Reason.TOKEN_STALE);
        refused(() -> put(with(grants.exclusive("a", 33)), "a/2", "late"), Reason.TOKEN_STALE);
        refused(() -> claim(guardAs(objects, grants.exclusive("a", 33)), "a"), Reason.TOKEN_STALE);
        assertThat(claim(guardAs(objects, grants.shared("a", 35)), "a").getSharedToken())
                .isEqualTo(35);
        assertThat(log())
                .extracting(row -> row.operation() + " " + row.resource() + " " + row.key() + " " + row.token())
                .containsExactly("PUT a a/1 33", "CLAIM a  34", "CLAIM a  35");
    }

    @Test
    void onlyWhatCanHaveObjectsHereIsClaimedAndOnlyByItsOwnLock() throws Exception {
        GuardGrpc.GuardBlockingStub holder = guardAs(objects, grants.exclusive("a/1", 34));
        Rejection rejection = refused(() -> claim(holder, "a/1"), Reason.WRONG_RESOURCE);
        assertThat(rejection.message()).contains("'a/1'", "{key:1}").doesNotContain("\n");
        assertThat(rejection.metadata())
                .containsEntry(Rejection.RESOURCE, "a/1")
                .containsEntry(Rejection.APPLIED, "no");
        refused(() -> claim(holder, "a"), Reason.WRONG_RESOURCE);
        refused(() -> claim(holder, ""), Reason.MALFORMED_REQUEST);
        refused(() -> claim(holder, "a\n"), Reason.MALFORMED_REQUEST);
        refused(() -> claim(GuardGrpc.newBlockingStub(objects.getChannel()), "a"), Reason.SEQUENCER_MISSING);
        SignedSequencer forged = SequencerKeys.generate()
                .sign(Grants.sequencer(Grants.ISSUER, "a", Mode.EXCLUSIVE, FencingToken.MAX, 1));
        refused(() -> claim(guardAs(objects, forged), "a"), Reason.SEQUENCER_INVALID);
        assertThat(number("SELECT COUNT(*) FROM palisade_fence WHERE x_token > 0 OR s_token > 0"))
                .isZero();
        assertThat(log()).isEmpty();
    }

    @Test
    void aMarkIsDescribedToAnybodyAndNoneIsNot() {
        put(with(grants.exclusive("a", 34)), "a/1", "x");
        GuardGrpc.GuardBlockingStub onlooker = GuardGrpc.newBlockingStub(objects.getChannel());
        assertThat(describe(onlooker, "a").getMark().getExclusiveToken()).isEqualTo(34);
        assertThat(describe(onlooker, "b").hasMark()).isFalse();
        refused(() -> describe(onlooker, ""), Reason.MALFORMED_REQUEST);
    }

    @Test
    void withTheGuardOffAClaimIsAnsweredAndRaisesNothing() throws Exception {
        ObjectsGrpc.ObjectsBlockingStub open = serve("{key:1}", false);
        assertThat(claim(guardAs(open, grants.exclusive("a", 34)), "a").getExclusiveToken())
                .isZero();
        assertThat(claim(GuardGrpc.newBlockingStub(open.getChannel()), "a").getExclusiveToken())
                .isZero();
        refused(() -> claim(GuardGrpc.newBlockingStub(open.getChannel()), "a/1"), Reason.WRONG_RESOURCE);
        assertThat(put(with(open, grants.exclusive("a", 33)), "a/1", "late").getApplied())
                .isTrue();
        assertThat(log()).extracting(AppliedLog.Row::token).containsExactly(34L, 0L, 33L);
    }

    @Test
    void aListingComesInPagesInOrderWithoutTheDeleted() {
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 34));
        for (String key : List.of("a/3", "a/1", "a/5", "a/2", "a/4", "a", "a0")) {
            put(key.equals("a0") ? with(grants.exclusive("a0", 1)) : holder, key, key);
        }
        holder.delete(DeleteObjectRequest.newBuilder().setKey("a/4").build());
        ListObjectsRequest.Builder page =
                ListObjectsRequest.newBuilder().setPrefix("a/").setPageSize(2);
        ListObjectsReply first = holder.list(page.build());
        assertThat(keys(first)).containsExactly("a/1", "a/2");
        assertThat(first.getObjects(0).getSizeBytes()).isEqualTo(3);
        assertThat(first.getObjects(0).getToken()).isEqualTo(34);
        ListObjectsReply second =
                holder.list(page.setPageToken(first.getNextPageToken()).build());
        assertThat(keys(second)).containsExactly("a/3", "a/5");
        assertThat(second.getNextPageToken()).isEmpty();
        ListObjectsRequest.Builder all = ListObjectsRequest.newBuilder().setUnfenced(true);
        assertThat(keys(objects.list(all.build()))).containsExactly("a", "a/1", "a/2", "a/3", "a/5", "a0");
    }

    @Test
    void aListingRaisesTheMarkAndIsRefusedWhereSeveralLocksGuard() {
        with(grants.exclusive("a", 34))
                .list(ListObjectsRequest.newBuilder().setPrefix("a/").build());
        refused(() -> put(with(grants.exclusive("a", 33)), "a/1", ""), Reason.TOKEN_STALE);
        Rejection rejection = refused(
                () -> with(grants.exclusive("a", 34))
                        .list(ListObjectsRequest.newBuilder().setPrefix("a").build()),
                Reason.MALFORMED_REQUEST);
        assertThat(rejection.message()).contains("{key:1}").doesNotContain("\n");
    }

    @Test
    void aBentPageTokenOrSizeIsRefused() {
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 34));
        for (String token :
                List.of("x", "!!", PageToken.after("b/1"), PageToken.after("a/1") + "A", "A".repeat(2000))) {
            refused(
                    () -> holder.list(ListObjectsRequest.newBuilder()
                            .setPrefix("a/")
                            .setPageToken(token)
                            .build()),
                    Reason.MALFORMED_REQUEST);
        }
        for (int size : new int[] {-1, 1001}) {
            refused(
                    () -> holder.list(ListObjectsRequest.newBuilder()
                            .setPrefix("a/")
                            .setPageSize(size)
                            .build()),
                    Reason.MALFORMED_REQUEST);
        }
    }

    @Test
    void anOnlookerNeedsNoSequencerAndRaisesNothing() {
        put(with(grants.exclusive("a", 3)), "a/1", "x");
        assertThat(unfenced("a/1").getContent().toStringUtf8()).isEqualTo("x");
        put(with(grants.exclusive("a", 3)), "a/1", "y");
        assertThat(log()).noneMatch(row -> row.operation() == AppliedLog.Operation.GET);
    }

    @Test
    void theAppliedLogHoldsWhatWasAppliedAndNothingElse() {
        ObjectsGrpc.ObjectsBlockingStub holder = with(grants.exclusive("a", 34));
        put(holder, "a/1", "x");
        get(holder, "a/1");
        refused(() -> put(with(grants.exclusive("a", 33)), "a/1", "y"), Reason.TOKEN_STALE);
        holder.put(PutObjectRequest.newBuilder().setKey("a/1").setIfVersion(9).build());
        holder.delete(DeleteObjectRequest.newBuilder().setKey("a/1").build());
        assertThat(log())
                .extracting(AppliedLog.Row::operation)
                .containsExactly(
                        AppliedLog.Operation.PUT,
                        AppliedLog.Operation.GET,
                        AppliedLog.Operation.MISMATCH,
                        AppliedLog.Operation.DELETE);
        assertThat(log().get(0)).satisfies(row -> {
            assertThat(row.token()).isEqualTo(34);
            assertThat(row.resource()).isEqualTo("a");
            assertThat(row.key()).isEqualTo("a/1");
            assertThat(row.grantHex()).isEqualTo(new GrantId(7, 34).toString());
            assertThat(row.sha256())
                    .isEqualTo(AppliedLog.sha256("x".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
        });
    }

    @Test
    void withTheGuardOffStaleWritesAreAppliedAndRecordedWithTheirToken() throws Exception {
        ObjectsGrpc.ObjectsBlockingStub open = serve("{key:1}", false);
        put(with(open, grants.exclusive("a", 34)), "a/1", "new");
        put(with(open, grants.exclusive("a", 33)), "a/1", "old");
        assertThat(get(open, "a/1").getToken()).isEqualTo(33);
        put(open, "a/1", "nobody's");
        assertThat(get(open, "a/1").getToken()).isZero();
        assertThat(log())
                .filteredOn(row -> row.operation() == AppliedLog.Operation.PUT)
                .extracting(AppliedLog.Row::token)
                .containsExactly(34L, 33L, 0L);
    }

    @Test
    void aFullQueueIsLimitExceededAndACallPastItsDeadlineIsNotStarted() throws Exception {
        CountDownLatch release = new CountDownLatch(1);
        // Two threads busy: the next calls only queue.
        for (int i = 0; i < 2; i++) {
            executor.submit(() -> {
                try {
                    release.await(60, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
        }
        assertThatThrownBy(() ->
                        put(with(grants.exclusive("a", 1)).withDeadlineAfter(50, TimeUnit.MILLISECONDS), "a/1", "late"))
                .isInstanceOfSatisfying(
                        StatusRuntimeException.class,
                        e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.DEADLINE_EXCEEDED));
        executor.submit(() -> {});
        refused(() -> put(with(grants.exclusive("a", 1)), "a/1", ""), Reason.LIMIT_EXCEEDED);
        release.countDown();
        assertThat(executor.drain(Duration.ofSeconds(30))).isTrue();
        assertThat(log()).isEmpty();
    }

    @Test
    void aDatabaseThatFailsIsNeverABareUnknown() throws Exception {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE objects");
        }
        Rejection rejection = refused(() -> put(with(grants.exclusive("a", 1)), "a/1", ""), Reason.STORE_UNAVAILABLE);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "no");
    }

    @Test
    void anotherLockTemplateOverTheSameDataIsRefused() throws Exception {
        try (Connection connection = pool.getConnection()) {
            Schema.requireSetting(connection, "lock-template", "{key:1}");
            Schema.requireSetting(connection, "lock-template", "{key:1}");
            assertThatThrownBy(() -> Schema.requireSetting(connection, "lock-template", "{key}"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("'{key:1}', not '{key}'");
        }
    }

    @Test
    void inARaceTheAppliedLogShowsNoFallingToken() throws Exception {
        AtomicInteger clock = new AtomicInteger(1);
        for (int seed = 1; seed <= 3; seed++) {
            race(objects, seed, clock);
        }
        assertThat(log()).as("the race went somewhere").hasSizeGreaterThan(50);
        assertThat(AppliedCheck.firstViolation(applied())).isEmpty();
    }

    @Test
    void theSameRaceWithTheGuardOffIsFound() throws Exception {
        ObjectsGrpc.ObjectsBlockingStub open = serve("{key:1}", false);
        Optional<String> violation = Optional.empty();
        for (int seed = 1; seed <= 20 && violation.isEmpty(); seed++) {
            race(open, seed, new AtomicInteger(1));
            violation = AppliedCheck.firstViolation(applied());
        }
        assertThat(violation).isPresent();
    }

    /** @param clock where tokens come from; they rise as it does */
    private void race(ObjectsGrpc.ObjectsBlockingStub stub, int seed, AtomicInteger clock) throws Exception {
        List<Callable<Integer>> racers = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            Random random = new Random(seed * 100L + thread);
            racers.add(() -> {
                int refusals = 0;
                for (int i = 0; i < 60; i++) {
                    long token = Math.max(1, clock.incrementAndGet() / 6 - random.nextInt(3));
                    boolean shared = token % 4 == 0;
                    ObjectsGrpc.ObjectsBlockingStub caller =
                            with(stub, shared ? grants.shared("a", token) : grants.exclusive("a", token));
                    try {
                        if (shared || random.nextInt(3) == 0) {
                            get(caller, "a/1");
                        } else {
                            put(caller, "a/" + random.nextInt(2), Long.toString(token));
                        }
                    } catch (StatusRuntimeException e) {
                        assertThat(Rejections.ofThrowable(e).orElseThrow().reason())
                                .isIn(Reason.TOKEN_STALE, Reason.DRAINING, Reason.LIMIT_EXCEEDED);
                        refusals++;
                    }
                }
                return refusals;
            });
        }
        ExecutorService threads = Executors.newFixedThreadPool(racers.size());
        for (Future<Integer> end : threads.invokeAll(racers)) {
            end.get();
        }
        threads.shutdown();
    }

    /** Seeds 1 to 100: an authentic sequencer of a newer grant, with one bit of it changed or its end cut off. */
    @Test
    void noMarkMovesForADamagedSequencer() {
        put(with(grants.exclusive("a", 5)), "a/1", "held");
        byte[] newer = grants.exclusive("a", 9).toBytes();
        for (int seed = 1; seed <= 100; seed++) {
            Random random = new Random(seed);
            byte[] damaged = seed % 4 == 0 ? Arrays.copyOf(newer, random.nextInt(newer.length)) : newer.clone();
            if (damaged.length == newer.length) {
                damaged[random.nextInt(newer.length)] ^= (byte) (1 << random.nextInt(8));
            }
            refused(() -> put(withBytes(damaged), "a/1", "damaged"), Reason.SEQUENCER_INVALID);
        }
        assertThat(put(with(grants.exclusive("a", 6)), "a/1", "next").getApplied())
                .isTrue();
    }

    private static GuardGrpc.GuardBlockingStub guardAs(ObjectsGrpc.ObjectsBlockingStub beside, SignedSequencer signed) {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, signed);
        return GuardGrpc.newBlockingStub(beside.getChannel())
                .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private static Mark claim(GuardGrpc.GuardBlockingStub stub, String resource) {
        return stub.claim(ClaimRequest.newBuilder().setResource(resource).build())
                .getMark();
    }

    private static DescribeMarkReply describe(GuardGrpc.GuardBlockingStub stub, String resource) {
        return stub.describeMark(
                DescribeMarkRequest.newBuilder().setResource(resource).build());
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private List<AppliedCheck.Applied> applied() {
        return log().stream()
                .map(row -> new AppliedCheck.Applied(
                        row.operation().writes(),
                        row.mode() == null ? Mode.EXCLUSIVE : row.mode(),
                        row.token(),
                        row.grantHex()))
                .toList();
    }

    private List<AppliedLog.Row> log() {
        List<AppliedLog.Row> rows = new ArrayList<>();
        try (Connection connection = pool.getConnection()) {
            AppliedLog.readAll(connection, rows::add);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
        return rows;
    }

    private static List<String> keys(ListObjectsReply reply) {
        return reply.getObjectsList().stream().map(ObjectEntry::getKey).toList();
    }

    private ObjectsGrpc.ObjectsBlockingStub with(SignedSequencer signed) {
        return with(objects, signed);
    }

    private static ObjectsGrpc.ObjectsBlockingStub with(ObjectsGrpc.ObjectsBlockingStub stub, SignedSequencer signed) {
        Metadata headers = new Metadata();
        SequencerHeader.put(headers, signed);
        return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private ObjectsGrpc.ObjectsBlockingStub withBytes(byte[] bytes) {
        Metadata headers = new Metadata();
        headers.put(SequencerHeader.KEY, bytes);
        return objects.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private static PutObjectReply put(ObjectsGrpc.ObjectsBlockingStub stub, String key, String content) {
        return stub.put(PutObjectRequest.newBuilder()
                .setKey(key)
                .setContent(ByteString.copyFromUtf8(content))
                .build());
    }

    private static GetObjectReply get(ObjectsGrpc.ObjectsBlockingStub stub, String key) {
        return stub.get(GetObjectRequest.newBuilder().setKey(key).build());
    }

    private GetObjectReply unfenced(String key) {
        return objects.get(
                GetObjectRequest.newBuilder().setKey(key).setUnfenced(true).build());
    }

    private static PutObjectReply written(boolean applied, long version) {
        return PutObjectReply.newBuilder()
                .setApplied(applied)
                .setVersion(version)
                .build();
    }

    private static Rejection refused(ThrowingCallable call, Reason reason) {
        Rejection[] found = new Rejection[1];
        assertThatThrownBy(call).isInstanceOfSatisfying(StatusRuntimeException.class, e -> {
            found[0] = Rejections.ofThrowable(e).orElseThrow();
            assertThat(found[0].reason()).as(e.getMessage()).isEqualTo(reason);
        });
        return found[0];
    }
}
