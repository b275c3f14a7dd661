package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.ClientFrame;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Hello;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.LeaveRequest;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ReleaseRequest;
import dev.palisade.proto.v1.RenewRequest;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import dev.palisade.proto.v1.ResumeRequest;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import dev.palisade.server.access.Verb;
import dev.palisade.server.core.EndCause;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every call of the service descriptor, as every kind of principal. What each needs is read from the page for users. */
class AccessTest {
    private static final Path PAGE = Path.of("../docs/reference/access.md");
    private static final Pattern ROW = Pattern.compile("\\| `(\\w+)`( EXCLUSIVE| SHARED)? \\| (.*?) \\| (.*?) \\|");
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    /** A call of the page, such as {@code Acquire SHARED}, and the verbs of which one is enough; empty: none is needed. */
    private record Row(String call, Set<String> verbs, boolean isOfServer, boolean isFiltered) {}

    @TempDir
    Path folder;

    private Path policy;
    private Path users;
    private final Map<String, String> tokens = new LinkedHashMap<>();
    private AccessControl access;
    private Served served;

    @BeforeEach
    void serve() throws Exception {
        policy = folder.resolve("policy.conf");
        users = folder.resolve("users");
        List<String> lines = new ArrayList<>();
        for (Verb verb : Verb.values()) {
            String pattern = verb == Verb.OPERATE ? "*" : "walk/*";
            lines.add("allow only-" + verb.word() + " " + verb.word() + " " + pattern);
            user("only-" + verb.word());
        }
        lines.add("allow stranger acquire,describe,revoke,force-release,guard other/*");
        lines.add("allow alice * *");
        lines.add("allow bob * *");
        for (String name : List.of("stranger", "alice", "bob")) {
            user(name);
        }
        Files.write(policy, lines);
        access = new AccessControl(
                new AccessFile<>(policy, false, Policy::parse),
                new AccessFile<>(users, true, UserTokens::parse),
                null,
                () -> 1);
        served = new Served(folder.resolve("locks"), access);
    }

    @AfterEach
    void close() {
        served.close();
    }

    private void user(String name) throws Exception {
        byte[] random = Arrays.copyOf(name.getBytes(java.nio.charset.StandardCharsets.UTF_8), UserTokens.TOKEN_BYTES);
        tokens.put(name, UserTokens.add(users, name, random, LocalDate.EPOCH));
    }

    private Channel as(@Nullable String name) {
        return name == null ? served.channel : withHeader("Bearer " + tokens.get(name));
    }

    private Channel withHeader(String authorization) {
        Metadata headers = new Metadata();
        headers.put(AUTHORIZATION, authorization);
        return ClientInterceptors.intercept(served.channel, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private static Map<String, Row> page() throws Exception {
        Map<String, Row> rows = new LinkedHashMap<>();
        for (String line : Files.readAllLines(PAGE)) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                String call = row.group(1) + Optional.ofNullable(row.group(2)).orElse("");
                Set<String> verbs = row.group(3).equals("none")
                        ? Set.of()
                        : Stream.of(row.group(3).split(" or ", -1))
                                .map(verb -> verb.replace("`", ""))
                                .collect(Collectors.toSet());
                rows.put(
                        call,
                        new Row(
                                call,
                                verbs,
                                row.group(4).startsWith("the server"),
                                row.group(4).startsWith("some lock")));
            }
        }
        return rows;
    }

    /** The rows of the page for one rpc: one, or one for each mode. */
    private static List<Row> rows(String rpc) throws Exception {
        List<Row> rows = page().values().stream()
                .filter(row -> row.call().equals(rpc) || row.call().startsWith(rpc + " "))
                .toList();
        assertThat(rows).as("rows for %s in %s", rpc, PAGE).isNotEmpty();
        return rows;
    }

    @Test
    void thePageHasARowForEveryCallAndNoOther() throws Exception {
        Set<String> rpcs = LocksGrpc.getServiceDescriptor().getMethods().stream()
                .map(MethodDescriptor::getBareMethodName)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(page().keySet().stream().map(call -> call.split(" ", -1)[0]).collect(Collectors.toSet()))
                .isEqualTo(rpcs);
        assertThat(rpcs).hasSizeGreaterThan(15);
    }

    @Test
    void everyUnaryCallNeedsTheVerbOfThePage() throws Exception {
        int calls = 0;
        for (MethodDescriptor<?, ?> method : LocksGrpc.getServiceDescriptor().getMethods()) {
            if (method.getType() != MethodDescriptor.MethodType.UNARY) {
                continue;
            }
            for (Row row : rows(String.valueOf(method.getBareMethodName()))) {
                Message request = request(inputType(method), row.call());
                walk(row, name -> refusal(() -> unary(as(name), method, request)));
                calls++;
            }
        }
        assertThat(calls).isGreaterThan(15);
    }

    @Test
    void everyCallOfAStreamNeedsTheVerbOfThePage() throws Exception {
        List<FieldDescriptor> commands = Call.getDescriptor().getOneofs().get(0).getFields();
        assertThat(commands).hasSizeGreaterThan(6);
        int session = 100;
        for (FieldDescriptor command : commands) {
            if (command.getNumber() == Call.RESUME_MANY_FIELD_NUMBER) {
                continue; // Each of its grants is checked by itself: below.
            }
            String rpc = command.getMessageType().getName().replace("Request", "");
            for (Row row : rows(rpc)) {
                Message request = request(command.getMessageType(), row.call());
                Call call = Call.newBuilder()
                        .setField(command, request.toBuilder().build())
                        .setCallId(7)
                        .build();
                int number = session++;
                walk(row, name -> onStream(as(name), number, call));
            }
        }
    }

    private interface Asked {
        @Nullable
        Reason as(@Nullable String name) throws Exception;
    }

    private static void walk(Row row, Asked asked) throws Exception {
        assertThat(asked.as(null)).as("%s, anonymous", row.call()).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(isDenied(asked.as("stranger")))
                .as("%s, of a principal with rights elsewhere", row.call())
                .isEqualTo(!row.verbs().isEmpty() && !row.isFiltered());
        for (Verb verb : Verb.values()) {
            boolean isAllowed = row.verbs().isEmpty() || row.verbs().contains(verb.word());
            assertThat(isDenied(asked.as("only-" + verb.word())))
                    .as("%s, of a principal that may only %s", row.call(), verb.word())
                    .isEqualTo(!isAllowed);
        }
    }

    private static boolean isDenied(@Nullable Reason reason) {
        assertThat(reason).isNotEqualTo(Reason.UNAUTHENTICATED);
        return reason == Reason.PERMISSION_DENIED;
    }

    private static com.google.protobuf.Descriptors.Descriptor inputType(MethodDescriptor<?, ?> method) {
        return ((ProtoMethodDescriptorSupplier) java.util.Objects.requireNonNull(method.getSchemaDescriptor()))
                .getMethodDescriptor()
                .getInputType();
    }

    /** Of lock walk/1; most are malformed otherwise, which shows after the rights were checked. */
    private static Message request(com.google.protobuf.Descriptors.Descriptor type, String call) throws Exception {
        DynamicMessage.Builder request = DynamicMessage.newBuilder(type);
        FieldDescriptor lock = type.findFieldByName("lock");
        if (lock != null) {
            request.setField(lock, "walk/1");
        }
        FieldDescriptor mode = type.findFieldByName("mode");
        if (mode != null) {
            request.setField(mode, (call.endsWith("SHARED") ? Mode.SHARED : Mode.EXCLUSIVE).getValueDescriptor());
        }
        Class<?> message = Class.forName("dev.palisade.proto.v1." + type.getName());
        return (Message) message.getMethod("parseFrom", byte[].class)
                .invoke(null, (Object) request.build().toByteArray());
    }

    @SuppressWarnings("unchecked")
    private static void unary(Channel channel, MethodDescriptor<?, ?> method, Message request) {
        ClientCalls.blockingUnaryCall(
                channel,
                (MethodDescriptor<Message, Message>) method,
                CallOptions.DEFAULT.withDeadlineAfter(60, TimeUnit.SECONDS),
                request);
    }

    private static @Nullable Reason refusal(Runnable call) {
        try {
            call.run();
            return null;
        } catch (StatusRuntimeException e) {
            return Rejections.ofThrowable(e)
                    .map(Rejection::reason)
                    .orElseThrow(() -> new AssertionError("no ErrorInfo", e));
        }
    }

    /** Why the call was refused on a stream of its own. */
    private static @Nullable Reason onStream(Channel channel, int session, Call call) {
        CompletableFuture<Optional<Reason>> refusal = new CompletableFuture<>();
        StreamObserver<ClientFrame> out = LocksGrpc.newStub(channel).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {
                frame.getRepliesList()
                        .forEach(reply -> refusal.complete(
                                reply.hasRejected()
                                        ? Optional.of(Rejections.reason(
                                                reply.getRejected().getReason()))
                                        : Optional.empty()));
            }

            @Override
            public void onError(Throwable failure) {
                refusal.complete(Rejections.ofThrowable(failure).map(Rejection::reason));
            }

            @Override
            public void onCompleted() {}
        });
        out.onNext(hello(session, 1).addCalls(call).build());
        Optional<Reason> reason = Served.get(refusal);
        out.onCompleted();
        return reason.orElse(null);
    }

    private static ClientFrame.Builder hello(int session, long gen) {
        return ClientFrame.newBuilder()
                .setHello(
                        Hello.newBuilder().setSessionId(Served.session(session)).setSessionGen(gen));
    }

    private LocksGrpc.LocksBlockingStub stub(String name) {
        return LocksGrpc.newBlockingStub(as(name)).withDeadlineAfter(60, TimeUnit.SECONDS);
    }

    private static AcquireRequest acquire(String lock) {
        return Served.acquire(lock, 1, 0)
                .setSessionId(Served.session(1))
                .setTtlMillis(60_000)
                .build();
    }

    @Test
    void aKnownSessionIdIsWorthNothingInOtherHands() {
        Granted granted = stub("alice").acquire(acquire("walk/1")).getGranted();
        RenewRequest renew = RenewRequest.newBuilder()
                .setLock("walk/1")
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
        ReleaseRequest release = ReleaseRequest.newBuilder()
                .setLock("walk/1")
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
        ResumeRequest resume = ResumeRequest.newBuilder()
                .setLock("walk/1")
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .setSessionGen(1)
                .setRequestId(1)
                .setSequencer(granted.getSequencer())
                .build();
        assertThat(refusal(() -> stub("bob").renew(renew))).isEqualTo(Reason.NOT_HOLDER);
        assertThat(refusal(() -> stub("bob").release(release))).isEqualTo(Reason.NOT_HOLDER);
        assertThat(refusal(() -> stub("bob").resume(resume))).isEqualTo(Reason.NOT_HOLDER);
        assertThat(stub("bob").acquire(acquire("walk/1")).hasBusy()).isTrue();
        Call resumeOnStream = Call.newBuilder()
                .setCallId(1)
                .setResume(resume.toBuilder().clearSessionId().clearSessionGen())
                .build();
        assertThat(onStream(as("bob"), 1, resumeOnStream)).isEqualTo(Reason.NOT_HOLDER);
        assertThat(stub("alice").renew(renew).getTtlMillis()).isEqualTo(60_000);
        stub("alice").release(release);
    }

    @Test
    void ofGrantsThatAreResumedTogetherThoseAreLeftOutThatTheCallerMayNotHave() throws Exception {
        Served.Stream before = served.stream(as("bob"), 1, 1);
        Granted kept = before.granted(Served.acquire("other/1", 1, 0));
        Granted denied = before.granted(Served.acquire("walk/1", 2, 0));
        onlyAliceAnd("allow bob acquire other/*");
        Served.Stream after = served.stream(as("bob"), 1, 2);
        served.events.clear();
        assertThat(after.resumeMany(kept, denied)).containsExactly(denied.getGrantId());
        assertThat(served.events)
                .filteredOn(line -> line.contains("PERMISSION_DENIED"))
                .singleElement()
                .asString()
                .contains("walk/1");
        assertThat(stub("alice")
                        .history(HistoryRequest.newBuilder().setLock("walk/1").build())
                        .getEntriesList())
                .as("the store was not asked")
                .noneMatch(entry -> entry.getWhat().equals("RESUMED"));
        assertThat(stub("alice")
                        .history(HistoryRequest.newBuilder().setLock("other/1").build())
                        .getEntriesList())
                .anyMatch(entry -> entry.getWhat().equals("RESUMED"));
        assertThat(after.resume(denied).getRejected().getReason()).isEqualTo("PERMISSION_DENIED");
        assertThat(after.keepAlive(1).getLostList()).isEmpty();
    }

    @Test
    void historyNamesThePrincipalThatForcedARelease() {
        stub("alice").acquire(acquire("walk/1"));
        stub("alice")
                .forceRelease(ForceReleaseRequest.newBuilder()
                        .setLock("walk/1")
                        .setBy("bob@payroll")
                        .setWhy("late")
                        .build());
        assertThat(stub("alice")
                        .history(HistoryRequest.newBuilder().setLock("walk/1").build())
                        .getEntriesList())
                .anySatisfy(entry -> assertThat(entry.getDetail()).isEqualTo("by alice (\"bob@payroll\"): late"));
    }

    /** Else it would read as if another principal had taken part. */
    @Test
    void aNameThatAnOperatorGivesItselfCannotEndItsQuotation() {
        stub("alice").acquire(acquire("walk/1"));
        stub("alice")
                .forceRelease(ForceReleaseRequest.newBuilder()
                        .setLock("walk/1")
                        .setBy("x\") and ops (\"y")
                        .setWhy("w")
                        .build());
        assertThat(stub("alice")
                        .history(HistoryRequest.newBuilder().setLock("walk/1").build())
                        .getEntriesList())
                .anySatisfy(
                        entry -> assertThat(entry.getDetail()).isEqualTo("by alice (\"x\\\") and ops (\\\"y\"): w"));
    }

    @Test
    void listsShowOnlyWhatTheCallerMayDescribe() throws Exception {
        for (String lock : List.of("a", "other/1", "otherwise", "walk", "walk/1", "walk/2", "walk/3", "walks", "z")) {
            stub("alice").acquire(acquire(lock));
        }
        assertThat(listed("alice", "", 2)).hasSize(9);
        assertThat(listed("only-describe", "", 2)).containsExactly("walk/1", "walk/2", "walk/3");
        assertThat(listed("only-describe", "walk/2", 2)).containsExactly("walk/2");
        assertThat(listed("only-describe", "o", 2)).isEmpty();
        assertThat(listed("stranger", "", 1)).containsExactly("other/1");
        Files.writeString(
                policy,
                "allow bob describe z\nallow bob describe a\nallow bob describe walk/*\nallow bob describe walk/2\n");
        change();
        assertThat(listed("bob", "", 1)).containsExactly("a", "walk/1", "walk/2", "walk/3", "z");
        assertThat(listed("bob", "walk", 100)).containsExactly("walk/1", "walk/2", "walk/3");
    }

    /** Of locks that the caller may not see, a page has neither the names nor the room. */
    @Test
    void pageOfSeveralRangesIsFull() throws Exception {
        for (int i = 0; i < 6; i++) {
            stub("alice").acquire(acquire("full/" + i));
        }
        Files.writeString(policy, """
                allow alice * *
                allow bob describe full/1
                allow bob describe full/3
                allow bob describe full/4
                allow bob describe full/5
                """);
        change();
        ListReply first =
                stub("bob").list(ListRequest.newBuilder().setPageSize(3).build());
        assertThat(first.getLocksList().stream().map(DescribeReply::getLock))
                .containsExactly("full/1", "full/3", "full/4");
        ListReply second = stub("bob")
                .list(ListRequest.newBuilder()
                        .setPageSize(3)
                        .setPageToken(first.getNextPageToken())
                        .build());
        assertThat(second.getLocksList().stream().map(DescribeReply::getLock)).containsExactly("full/5");
        assertThat(second.getNextPageToken()).isEmpty();
    }

    @Test
    void aGuardReportsRefusalsOfItsLocksOnly() {
        ReportRefusalsRequest.Builder request =
                ReportRefusalsRequest.newBuilder().setGuard("shop");
        for (String lock : List.of("walk/1", "other/1")) {
            request.addRefusals(ReportedRefusal.newBuilder()
                    .setLock(lock)
                    .setResource("r")
                    .setReason("TOKEN_STALE")
                    .setPresentedToken(1));
        }
        assertThat(stub("only-guard").reportRefusals(request.build()).getTaken())
                .isEqualTo(1);
        assertThat(served.engine.refusals().newest(9).stream()
                        .map(report -> report.lock().value()))
                .containsExactly("walk/1");
    }

    private List<String> listed(String name, String prefix, int size) {
        List<String> names = new ArrayList<>();
        String token = "";
        do {
            ListReply page = stub(name)
                    .list(ListRequest.newBuilder()
                            .setPrefix(prefix)
                            .setPageSize(size)
                            .setPageToken(token)
                            .build());
            page.getLocksList().stream().map(DescribeReply::getLock).forEach(names::add);
            token = page.getNextPageToken();
        } while (!token.isEmpty());
        return names;
    }

    /** Two reads in a row have to find it. */
    private void change() {
        access.reload();
        assertThat(access.reload().replaced()).isNotEmpty();
        served.rpc.accessChanged();
    }

    @Test
    void aPrincipalBeyondItsLimitsKeepsWhatItHoldsAndOthersAreServed() throws Exception {
        Granted granted = stub("bob").acquire(acquire("walk/1")).getGranted();
        CompletableFuture<Reason> first = ended("bob", 2);
        Files.writeString(policy, "allow alice * *\nallow bob * *\nlimit bob sessions=1 requests-per-second=1\n");
        change();
        assertThat(first).as("a limit ends no stream").isNotDone();
        Call call = Call.newBuilder().setCallId(1).setAcquire(acquire("walk/2")).build();
        assertThat(onStream(as("bob"), 3, call)).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(onStream(as("alice"), 3, call)).isNull();

        Rejection tooMany = refusedInTheEnd(() -> stub("bob").list(ListRequest.getDefaultInstance()));
        assertThat(tooMany.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(tooMany.metadata()).containsEntry(Rejection.LIMIT, "requests-per-second");
        assertThat(Integer.parseInt(tooMany.metadata().get(Rejection.RETRY_AFTER_MILLIS)))
                .isBetween(1, 1_001);
        RenewRequest renew = RenewRequest.newBuilder()
                .setLock("walk/1")
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
        for (int i = 0; i < 20; i++) {
            assertThat(stub("bob").renew(renew).getTtlMillis()).isEqualTo(60_000);
            var unused = stub("alice").list(ListRequest.getDefaultInstance());
        }
    }

    @Test
    void withoutALineAPrincipalHasHalfOfTheSessions() throws Exception {
        assertThat(Caller.ANYONE.sessionsMax(10)).isEqualTo(10);
        assertThat(Caller.ofToken("bob", access).sessionsMax(10)).isEqualTo(5);
        assertThat(Caller.ofToken("bob", access).sessionsMax(1)).isEqualTo(1);
        onlyAliceAnd("limit bob sessions=9");
        assertThat(Caller.ofToken("bob", access).sessionsMax(10)).isEqualTo(9);
    }

    private static Rejection refusedInTheEnd(Supplier<?> call) {
        for (int i = 0; i < 1_000; i++) {
            try {
                var unused = call.get();
            } catch (StatusRuntimeException e) {
                return Rejections.ofThrowable(e).orElseThrow();
            }
        }
        throw new AssertionError("never refused");
    }

    private void onlyAliceAnd(String line) throws Exception {
        Files.writeString(policy, "allow alice * *\n" + line + "\n");
        change();
    }

    private static ReleaseRequest release(Granted granted) {
        return ReleaseRequest.newBuilder()
                .setLock(granted.getLock())
                .setGrantId(granted.getGrantId())
                .setToken(granted.getToken())
                .setSessionId(Served.session(1))
                .build();
    }

    private void awaitUnused(String lock) {
        Awaitility.await().untilAsserted(() -> {
            DescribeReply now = stub("alice")
                    .describe(DescribeRequest.newBuilder().setLock(lock).build());
            assertThat(now.getHoldersCount() + now.getWaitersTotal()).isZero();
        });
    }

    /** An offer has a sequencer, which a guard takes without an accept. */
    @Test
    void aWaiterWhoseRightIsGoneGetsNoOffer() throws Exception {
        Granted held = stub("alice").acquire(acquire("walk/1")).getGranted();
        List<ServerFrame> frames = new CopyOnWriteArrayList<>();
        Call wait = Call.newBuilder()
                .setCallId(1)
                .setAcquire(Served.acquire("walk/1", 1, 60_000).setTtlMillis(60_000))
                .build();
        StreamObserver<ClientFrame> first = stream("bob", frames);
        first.onNext(hello(2, 1).addCalls(wait).build());
        Awaitility.await().until(() -> frames.stream().anyMatch(frame -> frame.getRepliesCount() > 0));
        onlyAliceAnd("");
        StreamObserver<ClientFrame> second = stream("bob", frames);
        second.onNext(hello(2, 2).build());
        Awaitility.await()
                .until(() -> frames.stream().filter(ServerFrame::hasWelcome).count() == 2);
        stub("alice").release(release(held));
        awaitUnused("walk/1");
        assertThat(frames).flatExtracting(ServerFrame::getEventsList).noneMatch(Event::hasOffered);
        second.onCompleted();
    }

    private StreamObserver<ClientFrame> stream(String name, List<ServerFrame> frames) {
        return LocksGrpc.newStub(as(name)).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {
                frames.add(frame);
            }

            @Override
            public void onError(Throwable failure) {}

            @Override
            public void onCompleted() {}
        });
    }

    @Test
    void aCallThatWaitsIsRefusedWhenItsRightIsGone() throws Exception {
        for (String left : List.of("", "allow bob acquire-shared *")) {
            String lock = "walk/" + left.length();
            Granted held = stub("alice").acquire(acquire(lock)).getGranted();
            var waiting = LocksGrpc.newFutureStub(as("bob"))
                    .acquire(Served.acquire(lock, 7, 60_000)
                            .setSessionId(Served.session(2))
                            .setTtlMillis(60_000)
                            .build());
            Awaitility.await()
                    .until(() -> stub("alice")
                                    .describe(DescribeRequest.newBuilder()
                                            .setLock(lock)
                                            .build())
                                    .getWaitersTotal()
                            == 1);
            onlyAliceAnd(left);
            stub("alice").release(release(held));
            assertThat(refusal(() -> {
                        try {
                            waiting.get(60, TimeUnit.SECONDS);
                        } catch (java.util.concurrent.ExecutionException e) {
                            throw (StatusRuntimeException) e.getCause();
                        } catch (Exception e) {
                            throw new AssertionError(e);
                        }
                    }))
                    .isEqualTo(Reason.PERMISSION_DENIED);
            awaitUnused(lock);
            onlyAliceAnd("allow bob * *");
        }
    }

    @Test
    void aRightToShareKeepsNoExclusiveLock() throws Exception {
        Granted held = stub("bob").acquire(acquire("walk/1")).getGranted();
        onlyAliceAnd("allow bob acquire-shared *");
        RenewRequest renew = RenewRequest.newBuilder()
                .setLock("walk/1")
                .setGrantId(held.getGrantId())
                .setToken(held.getToken())
                .setSessionId(Served.session(1))
                .build();
        assertThat(refusal(() -> stub("bob").renew(renew))).isEqualTo(Reason.PERMISSION_DENIED);
        awaitUnused("walk/1");
        assertThat(refusal(() -> stub("bob").release(release(held)))).isEqualTo(Reason.LEASE_EXPIRED);
    }

    /** Its name would be remembered, and the ends of others forgotten for it. */
    @Test
    void whoMayNotAcquireALockLeavesNothingThere() {
        LeaveRequest leave = LeaveRequest.newBuilder()
                .setLock("walk/never")
                .setSessionId(Served.session(1))
                .setRequestId(1)
                .build();
        assertThat(refusal(() -> stub("stranger").leave(leave))).isEqualTo(Reason.PERMISSION_DENIED);
        assertThat(stub("alice").leave(leave).getWasWaiting()).isFalse();
    }

    @Test
    void refusedAcquiresAreCountedAlsoBeforeTheStore() throws Exception {
        AtomicInteger refused = new AtomicInteger();
        served.engine.onRefusedAcquire(refused::incrementAndGet);
        assertThat(refusal(() -> stub("stranger").acquire(acquire("walk/1")))).isEqualTo(Reason.PERMISSION_DENIED);
        Call call = Call.newBuilder().setCallId(1).setAcquire(acquire("walk/2")).build();
        assertThat(onStream(as("stranger"), 9, call)).isEqualTo(Reason.PERMISSION_DENIED);
        Files.writeString(policy, "allow bob * *\nlimit bob locks=1\n");
        change();
        stub("bob").acquire(acquire("walk/1"));
        assertThat(refusal(() -> stub("bob").acquire(acquire("walk/2")))).isEqualTo(Reason.LIMIT_EXCEEDED);
        assertThat(refused).hasValue(3);
    }

    @Test
    void denialIsLoggedWithPrincipalVerbLockAndPeer() throws Exception {
        assertThat(refusal(() -> stub("stranger").acquire(acquire("walk/1")))).isEqualTo(Reason.PERMISSION_DENIED);
        Call call = Call.newBuilder().setCallId(1).setAcquire(acquire("walk/2")).build();
        assertThat(onStream(as("stranger"), 9, call)).isEqualTo(Reason.PERMISSION_DENIED);
        for (int i = 1; i <= 2; i++) {
            String lock = "walk/" + i;
            assertThat(served.events)
                    .anyMatch(line -> line.matches("event=refused reason=PERMISSION_DENIED lock=" + lock
                            + " principal=stranger verb=acquire peer=\\S+ message=.*"));
        }
    }

    /** The release of another caller makes the result of the waiting call. */
    @Test
    void denialOfAWaiterIsLoggedAsItsOwn() throws Exception {
        Granted held = stub("bob").acquire(acquire("walk/1")).getGranted();
        ListenableFuture<AcquireReply> waiting = LocksGrpc.newFutureStub(as("alice"))
                .acquire(Served.acquire("walk/1", 1, 60_000)
                        .setSessionId(Served.session(2))
                        .build());
        Awaitility.await().until(() -> describe("walk/1").getWaitersTotal() == 1);
        Files.writeString(policy, "allow bob * *\nallow alice acquire,describe other/*\n");
        change();
        stub("bob")
                .release(ReleaseRequest.newBuilder()
                        .setLock("walk/1")
                        .setGrantId(held.getGrantId())
                        .setToken(held.getToken())
                        .setSessionId(Served.session(1))
                        .build());
        Awaitility.await().until(waiting::isDone);
        assertThat(served.events)
                .filteredOn(line -> line.contains("reason=PERMISSION_DENIED"))
                .isNotEmpty()
                .allMatch(line -> line.contains(" principal=alice "));
    }

    @Test
    void aDenialRepeatsNoNameThatIsNone() {
        String longest = "x".repeat(10_000);
        assertThat(refusal(() -> stub("stranger").acquire(acquire(longest)))).isEqualTo(Reason.MALFORMED_REQUEST);
    }

    @Test
    void changedRightsEndTheStreamsOfTheirPrincipalOnly() throws Exception {
        CompletableFuture<Reason> alice = ended("alice", 1);
        CompletableFuture<Reason> bob = ended("bob", 2);
        CompletableFuture<Reason> stranger = ended("stranger", 3);
        Files.writeString(
                policy, "allow bob * *\n\nallow stranger acquire,describe,revoke,force-release,guard other/*\n");
        change();
        assertThat(Served.get(alice)).isEqualTo(Reason.SESSION_UNKNOWN);
        List<String> kept = Files.readAllLines(users).stream()
                .filter(line -> !line.startsWith("bob "))
                .toList();
        Files.write(users, kept);
        change();
        assertThat(Served.get(bob)).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(stranger).isNotDone();
        assertThat(refusal(() -> stub("bob").acquire(acquire("x")))).isEqualTo(Reason.UNAUTHENTICATED);
        assertThat(refusal(() -> stub("alice").acquire(acquire("x")))).isEqualTo(Reason.PERMISSION_DENIED);
        assertThat(causeOfEnd("alice")).isEqualTo(EndCause.RIGHTS_CHANGED);
        assertThat(causeOfEnd("bob")).isEqualTo(EndCause.TOKENS_WITHDRAWN);
    }

    @Test
    void viewsNameThePrincipalsOfHoldersWaitersAndSessions() throws Exception {
        var unusedStream = ended("bob", 2); // Holds other/bob.
        stub("alice").acquire(acquire("walk/1"));
        assertThat(describe("walk/1").getHolders(0).getPrincipal())
                .as("by a unary call")
                .isEqualTo("alice");
        assertThat(Awaitility.await()
                        .until(() -> describe("other/bob"), lock -> lock.getHoldersCount() > 0)
                        .getHolders(0)
                        .getPrincipal())
                .isEqualTo("bob");
        Call waits = Call.newBuilder()
                .setCallId(1)
                .setAcquire(Served.acquire("other/bob", 1, 60_000))
                .build();
        assertThat(onStream(as("alice"), 7, waits)).isNull();
        assertThat(describe("other/bob").getWaitersList())
                .allMatch(waiter -> waiter.getPrincipal().equals("alice"));
        assertThat(stub("alice")
                        .acquire(Served.acquire("other/bob", 2, 0)
                                .setSessionId(Served.session(1))
                                .build())
                        .getBusy()
                        .getHolder()
                        .getPrincipal())
                .as("to acquire is not to describe")
                .isEmpty();
        assertThat(stub("alice").sessions(SessionsRequest.getDefaultInstance()).getSessionsList())
                .extracting(ListedSession::getPrincipal)
                .contains("bob");
    }

    private DescribeReply describe(String lock) {
        return stub("alice").describe(DescribeRequest.newBuilder().setLock(lock).build());
    }

    private EndCause causeOfEnd(String name) {
        LockName lock = new LockName("other/" + name);
        return Awaitility.await()
                .until(
                        () -> Served.get(served.engine.history(lock).toCompletableFuture()),
                        entries -> entries.size() == 2)
                .get(1)
                .cause()
                .orElseThrow();
    }

    /** A stream that is welcome; completes when the server ends it. */
    private CompletableFuture<Reason> ended(String name, int session) {
        CompletableFuture<Boolean> welcome = new CompletableFuture<>();
        CompletableFuture<Reason> ended = new CompletableFuture<>();
        AtomicBoolean isWelcome = new AtomicBoolean();
        StreamObserver<ClientFrame> out = LocksGrpc.newStub(as(name)).session(new StreamObserver<>() {
            @Override
            public void onNext(ServerFrame frame) {
                isWelcome.compareAndSet(false, frame.hasWelcome());
                if (frame.getRepliesCount() > 0) { // The lock, too: rights may change next.
                    welcome.complete(isWelcome.get());
                }
            }

            @Override
            public void onError(Throwable failure) {
                Rejections.ofThrowable(failure).map(Rejection::reason).ifPresent(ended::complete);
            }

            @Override
            public void onCompleted() {}
        });
        Call holds = Call.newBuilder()
                .setCallId(1)
                .setAcquire(Served.acquire("other/" + name, 1, 0))
                .build();
        out.onNext(hello(session, 1).addCalls(holds).build());
        assertThat(Served.get(welcome)).isTrue();
        return ended;
    }

    @Test
    void wrongTokensAreRefusedInOneLineThatDoesNotRepeatThem() {
        String token = java.util.Objects.requireNonNull(tokens.get("alice"));
        List<String> wrong = List.of(
                "",
                "Bearer",
                "Bearer ",
                "Basic YWxpY2U6cHc=",
                token,
                "Bearer " + token.substring(0, token.length() - 1),
                "Bearer " + token + "A",
                "Bearer " + token.replace("palisade_", "palisade-"),
                "Bearer " + token.toUpperCase(java.util.Locale.ROOT),
                "Bearer \u007f" + "garbled",
                "Bearer " + token + ", Bearer " + token,
                "Bearer " + "x".repeat(5_000));
        for (String header : wrong) {
            assertThat(refusal(
                            () -> LocksGrpc.newBlockingStub(withHeader(header)).acquire(acquire("walk/1"))))
                    .as(header)
                    .isEqualTo(Reason.UNAUTHENTICATED);
        }
        assertThat(served.events)
                .hasSize(wrong.size())
                .allMatch(line -> line.lines().count() == 1);
        assertThat(String.join("\n", served.events)).doesNotContain(token.substring(9), "garbled", "xxxx", "YWxp");
        assertThat(refusal(() ->
                        LocksGrpc.newBlockingStub(withHeader("bearer " + token)).acquire(acquire("walk/1"))))
                .isNull();
    }
}
