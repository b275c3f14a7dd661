package dev.palisade.guard.s3;

import static dev.palisade.guard.s3.Granted.refused;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.LockService;
import dev.palisade.guard.LockService.RefusedCalls;
import dev.palisade.guard.Mark;
import dev.palisade.guard.RefusalReports;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/** What {@link FencedS3} promises, on S3Mock. */
class FencedS3Test {
    private static final S3Client CLIENT = TestS3.CLIENT;
    private static final String BUCKET = TestS3.newBucket();
    private static int objects;

    private final String key = "orders/42-" + objects++ + ".json";
    private final Binding order = Binding.of(key);
    private final Granted grants = new Granted(key);
    private final FencedS3 fenced = FencedS3.open(CLIENT, BUCKET, grants.verifier());

    @Test
    void lowerTokenIsRefusedAndChangesNothing() {
        write(34, "340");
        Rejection rejection = refused(() -> write(33, "330"), Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.MARK_GRANT, new GrantId(7, 34).toString())
                .containsEntry(Rejection.RESOURCE, key)
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(value()).isEqualTo("340");
        assertThat(fenced.mark(key)).isEqualTo(new Mark(34, new GrantId(7, 34), 0));
    }

    @Test
    void refusalsAreReportedToTheLockService() throws Exception {
        CompletableFuture<RefusedCalls> reported = new CompletableFuture<>();
        LockService service = (LockService) Proxy.newProxyInstance(
                LockService.class.getClassLoader(), new Class<?>[] {LockService.class}, (proxy, method, arguments) -> {
                    reported.complete((RefusedCalls) ((List<?>) arguments[1]).get(0));
                    return CompletableFuture.completedFuture(true);
                });
        try (RefusalReports reports = RefusalReports.to(service, "a test")) {
            FencedS3 reporting = fenced.withReports(reports);
            reporting.write(grants.exclusive(34), order, RequestBody.fromString("340"));
            refused(() -> reporting.read(grants.exclusive(33), order), Reason.TOKEN_STALE);
            RefusedCalls stale = reported.get(60, TimeUnit.SECONDS);
            assertThat(stale.resource()).isEqualTo(key);
            assertThat(stale.presentedToken()).isEqualTo(33);
            assertThat(stale.markToken()).hasValue(34);
        }
    }

    @Test
    void holderWritesAsOftenAsItLikes() {
        for (int i = 0; i < 5; i++) {
            write(34, Integer.toString(i));
        }
        assertThat(value()).isEqualTo("4");
    }

    @Test
    void anotherGrantWithTheSameTokenIsRefused() {
        write(34, "340");
        SignedSequencer twin = grants.sign(Mode.EXCLUSIVE, 34, 999);
        refused(() -> fenced.write(twin, order, RequestBody.fromString("1")), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("340");
    }

    @Test
    void readRaisesTheMarkToo() throws IOException {
        write(33, "330");
        assertThat(read(34)).contains("330");
        assertThat(read(34)).as("again, from the store").contains("330");
        refused(() -> write(33, "331"), Reason.TOKEN_STALE);
        refused(() -> fenced.read(grants.exclusive(33), order), Reason.TOKEN_STALE);
    }

    @Test
    void claimRaisesTheMarkAlone() {
        write(33, "330");
        assertThat(fenced.claim(grants.exclusive(34), order)).isEqualTo(new Mark(34, new GrantId(7, 34), 0));
        String writeId = fenced.writeId(key).orElseThrow();
        fenced.claim(grants.exclusive(34), order);
        assertThat(fenced.writeId(key)).as("nothing to raise, nothing written").contains(writeId);
        refused(() -> write(33, "331"), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("330");
    }

    /** Why there is a trailer: S3 hashes the body alone, whatever the metadata. */
    @Test
    void eTagComesBackWithTheBodyUnlessThereIsATrailer() {
        String plain = CLIENT.putObject(plain(Map.of("token", "33")), RequestBody.fromString("330"))
                .eTag();
        assertThat(CLIENT.putObject(plain(Map.of("token", "34")), RequestBody.fromString("330"))
                        .eTag())
                .isEqualTo(plain);
        write(33, "330");
        String first = eTag();
        fenced.claim(grants.exclusive(34), order);
        String claimed = eTag();
        write(34, "330");
        assertThat(List.of(first, claimed, eTag())).doesNotHaveDuplicates();
    }

    @Test
    void sharedReadersShutOlderWritersOut() throws IOException {
        write(3, "30");
        assertThat(text(fenced.read(grants.shared(5), order))).contains("30");
        assertThat(text(fenced.read(grants.shared(4), order))).contains("30");
        refused(() -> write(4, "40"), Reason.TOKEN_STALE);
        refused(() -> write(5, "50"), Reason.TOKEN_STALE);
        write(6, "60");
        refused(() -> fenced.read(grants.shared(5), order), Reason.TOKEN_STALE);
        assertThat(fenced.mark(key)).isEqualTo(new Mark(6, new GrantId(7, 6), 5));
    }

    @Test
    void noSequencerMovesAMarkUnlessItIsGenuineAndOfThisLock() {
        write(34, "340");
        Mark before = fenced.mark(key);
        long max = FencingToken.MAX;
        SignedSequencer forged =
                SequencerKeys.generate().sign(Granted.sequencer(Granted.ISSUER, key, Mode.EXCLUSIVE, max, 1));
        SignedSequencer foreign = grants.sign(Granted.sequencer("staging", key, Mode.EXCLUSIVE, max, 1));
        SignedSequencer otherGroup = grants.sign(
                Granted.sequencer(Granted.ISSUER, key, Mode.EXCLUSIVE, max, 1).forAudience("reports"));
        SignedSequencer otherLock = grants.sign(Granted.sequencer(Granted.ISSUER, "o/43", Mode.EXCLUSIVE, max, 1));
        RequestBody body = RequestBody.fromString("1");
        refused(() -> fenced.write(forged, order, body), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(foreign, order, body), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(otherGroup, order, body), Reason.SEQUENCER_INVALID);
        refused(() -> fenced.write(otherLock, order, body), Reason.WRONG_RESOURCE);
        refused(() -> fenced.write(grants.shared(max), order, body), Reason.MODE_NOT_ALLOWED);
        refused(() -> fenced.delete(grants.shared(max), order), Reason.MODE_NOT_ALLOWED);
        refused(() -> fenced.claim(forged, order), Reason.SEQUENCER_INVALID);
        assertThat(fenced.mark(key)).isEqualTo(before);
        assertThat(value()).isEqualTo("340");
    }

    @Test
    void largestTokenIsComparedExactly() {
        write(FencingToken.MAX - 1, "1");
        write(FencingToken.MAX, "2");
        refused(() -> write(FencingToken.MAX - 1, "3"), Reason.TOKEN_STALE);
        assertThat(fenced.mark(key).exclusiveToken()).isEqualTo(FencingToken.MAX);
    }

    @Test
    void oneLockGuardsSeveralObjects() {
        Binding items = new Binding(key + "/items", new LockName(key));
        fenced.write(grants.exclusive(34), items, RequestBody.fromString("[]"));
        assertThat(fenced.mark(key + "/items").exclusiveToken()).isEqualTo(34);
        assertThat(fenced.mark(key)).isEqualTo(Mark.NONE);
    }

    @Test
    void deletedObjectKeepsItsMark() throws IOException {
        write(33, "330");
        fenced.delete(grants.exclusive(34), order);
        assertThat(read(34)).isEmpty();
        assertThat(read(35)).as("by the next grant, which raises the mark").isEmpty();
        refused(() -> write(34, "340"), Reason.TOKEN_STALE);
        refused(() -> fenced.delete(grants.exclusive(34), order), Reason.TOKEN_STALE);
        write(35, "350");
        assertThat(read(35)).contains("350");
    }

    @Test
    void readOfAMissingObjectShutsOlderWritersOut() throws IOException {
        assertThat(read(34)).isEmpty();
        refused(() -> write(33, "330"), Reason.TOKEN_STALE);
        assertThat(value()).isEmpty();
        write(34, "340");
        assertThat(read(34)).contains("340");
    }

    @Test
    void headersAndMetadataOfTheUserAreKept() throws IOException {
        Consumer<PutObjectRequest.Builder> headers = request -> request.contentType("application/json")
                .cacheControl("no-store")
                .contentDisposition("attachment")
                .contentLanguage("de")
                .metadata(Map.of("author", "me"));
        fenced.write(grants.exclusive(33), order, headers, RequestBody.fromString("{}"));
        for (long token : List.of(33L, 34L)) {
            try (ResponseInputStream<GetObjectResponse> found =
                    fenced.read(grants.exclusive(token), order).orElseThrow()) {
                assertThat(found.response().metadata()).isEqualTo(Map.of("author", "me"));
                assertThat(found.response().contentType()).isEqualTo("application/json");
                assertThat(found.response().cacheControl()).isEqualTo("no-store");
                assertThat(found.response().contentDisposition()).isEqualTo("attachment");
                assertThat(found.response().contentLanguage()).isEqualTo("de");
                assertThat(found.response().contentLength()).isEqualTo(2);
                assertThat(found.readAllBytes()).asString(UTF_8).isEqualTo("{}");
            }
        }
        assertThat(fenced.mark(key).exclusiveToken()).isEqualTo(34);
    }

    @Test
    void requestThatSetsWhatTheFenceSetsIsRefused() {
        List<Consumer<PutObjectRequest.Builder>> bad = List.of(
                request -> request.key("other"),
                request -> request.bucket("other"),
                request -> request.ifMatch("*"),
                request -> request.ifNoneMatch("*"),
                request -> request.contentLength(3L),
                request -> request.contentMD5("x"),
                request -> request.checksumSHA256("x"),
                request -> request.writeOffsetBytes(1L),
                request -> request.sseCustomerKey("x"),
                request -> request.tagging("a=b"),
                request -> request.acl("public-read"),
                request -> request.grantRead("x"),
                request -> request.objectLockMode("GOVERNANCE"),
                request -> request.metadata(Map.of("Palisade-Token", "1")));
        for (Consumer<PutObjectRequest.Builder> request : bad) {
            assertThatThrownBy(() -> fenced.write(grants.exclusive(34), order, request, RequestBody.fromString("1")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("nothing was sent");
        }
        RequestBody endless =
                RequestBody.fromContentProvider(() -> new ByteArrayInputStream(new byte[3]), "text/plain");
        assertThatThrownBy(() -> fenced.write(grants.exclusive(34), order, endless))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("length of the body is not known");
        assertThat(fenced.mark(key)).isEqualTo(Mark.NONE);
    }

    @Test
    void objectThatWasThereBeforeIsTakenOver() throws IOException {
        CLIENT.putObject(plain(Map.of("author", "me")), RequestBody.fromString("old"));
        assertThat(read(33)).contains("old");
        refused(() -> write(32, "320"), Reason.TOKEN_STALE);
        write(33, "330");
        assertThat(read(33)).contains("330");
    }

    @Test
    void readerWithoutTheFenceGetsWhiteSpaceAtTheEnd() throws Exception {
        String xml = "<order id='42'/>";
        write(34, xml);
        byte[] stored = CLIENT.getObjectAsBytes(
                        request -> request.bucket(BUCKET).key(key))
                .asByteArray();
        assertThat(stored).hasSize(xml.length() + FencedS3.TRAILER_BYTES);
        assertThat(new String(stored, UTF_8).strip()).isEqualTo(xml);
        assertThat(DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(new ByteArrayInputStream(stored))
                        .getDocumentElement()
                        .getAttribute("id"))
                .isEqualTo("42");
    }

    @Test
    void objectThatCannotBeWrittenAgainIsNotRead() throws IOException {
        write(33, "330");
        FencedS3 small = fenced.withRewriteBytesMax(2);
        assertThatThrownBy(() -> small.read(grants.exclusive(34), order))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has 3 bytes")
                .hasMessageContaining("nothing was applied");
        assertThatThrownBy(() -> small.claim(grants.exclusive(34), order)).isInstanceOf(IllegalStateException.class);
        assertThat(text(small.read(grants.exclusive(33), order)))
                .as("whose mark is its own")
                .contains("330");
        assertThat(fenced.mark(key).exclusiveToken()).isEqualTo(33);
        for (long bad : List.of(-1L, (1L << 30) + 1)) {
            assertThatThrownBy(() -> fenced.withRewriteBytesMax(bad)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void markThatIsNoneIsRefused() {
        String grant = new GrantId(7, 3).toString();
        String id = WriteId.random().hex();
        for (Map<String, String> metadata : List.of(
                Map.of("palisade-token", "3", "palisade-grant", grant),
                Map.of("palisade-token", "3", "palisade-write-id", id),
                Map.of("palisade-token", "many", "palisade-grant", grant, "palisade-write-id", id),
                Map.of("palisade-token", "9007199254740992", "palisade-grant", grant, "palisade-write-id", id),
                Map.of("palisade-token", "3", "palisade-grant", "aa", "palisade-write-id", id),
                Map.of("palisade-token", "3", "palisade-grant", grant, "palisade-write-id", "aa"),
                Map.of("palisade-write-id", id),
                Map.of("palisade-shared-token", "-3", "palisade-write-id", id))) {
            CLIENT.putObject(plain(metadata), RequestBody.fromString("1"));
            refused(() -> write(34, "1"), Reason.MARK_UNAVAILABLE);
            refused(() -> fenced.read(grants.exclusive(34), order), Reason.MARK_UNAVAILABLE);
            refused(() -> fenced.mark(key), Reason.MARK_UNAVAILABLE);
        }
    }

    @Test
    void bodyThatSomethingElseChangedIsNotedAtItsEnd() throws IOException {
        write(33, "330");
        Map<String, String> metadata =
                CLIENT.headObject(request -> request.bucket(BUCKET).key(key)).metadata();
        for (String body : List.of("short", "another" + " ".repeat(FencedS3.TRAILER_BYTES))) {
            CLIENT.putObject(plain(metadata), RequestBody.fromString(body));
            refused(() -> fenced.read(grants.exclusive(34), order), Reason.MARK_UNAVAILABLE);
        }
        try (ResponseInputStream<GetObjectResponse> found =
                fenced.read(grants.exclusive(33), order).orElseThrow()) {
            assertThatThrownBy(found::readAllBytes)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("something else changed the object");
        }
    }

    @Test
    void storeJudgesAsTheMarkDoes() throws IOException {
        Random random = new Random(1);
        Mark mark = Mark.NONE;
        int admitted = 0;
        for (int step = 0; step < 120; step++) {
            long token = 1L + random.nextInt(6) + step / 6;
            Mode mode = random.nextInt(3) == 0 ? Mode.SHARED : Mode.EXCLUSIVE;
            long grant = random.nextInt(6) == 0 ? token + 1_000 : token;
            Access access = mode == Mode.SHARED || random.nextBoolean() ? Access.READ : Access.WRITE;
            SignedSequencer signed = grants.sign(mode, token, grant);
            Sequencer sequencer = grants.verifier().verify(signed);
            Optional<Rejection> told = Optional.empty();
            try {
                if (access == Access.WRITE) {
                    fenced.write(signed, order, RequestBody.fromString("step " + step));
                } else {
                    text(fenced.read(signed, order));
                }
                admitted++;
            } catch (RejectedException e) {
                told = Optional.of(e.rejection());
            }
            assertThat(told).as("step %d on %s", step, mark).isEqualTo(mark.refusal(key, sequencer, access, 0, 0));
            if (told.isEmpty()) {
                mark = mark.raisedBy(sequencer);
            }
            assertThat(fenced.mark(key)).as("step %d", step).isEqualTo(mark);
        }
        assertThat(admitted).as("both verdicts were met").isBetween(20, 100);
    }

    @Test
    void callsAreCountedAndRefusalsLogged() {
        List<String> lines = new ArrayList<>();
        FencedS3 counted = FencedS3.open(CLIENT, BUCKET, grants.verifier(), lines::add);
        FencedS3 copy = counted.withRewriteBytesMax(10);
        counted.write(grants.exclusive(34), order, RequestBody.fromString("1"));
        copy.claim(grants.exclusive(34), order);
        assertThat(lines).as("what is admitted is not logged").isEmpty();
        refused(() -> copy.claim(grants.exclusive(33), order), Reason.TOKEN_STALE);
        refused(() -> copy.claim(new Granted(key).exclusive(35), order), Reason.SEQUENCER_INVALID);
        assertThat(lines)
                .first()
                .asString()
                .startsWith("event=refused reason=TOKEN_STALE lock=" + key + " resource=" + key
                        + " presented_token=33 mark_token=34 mark_grant=");
        refused(() -> counted.withoutEvents().claim(grants.exclusive(33), order), Reason.TOKEN_STALE);
        assertThat(lines).hasSize(2);
        assertThat(counted.stats().admitted()).isEqualTo(2);
        assertThat(counted.stats().refused()).isEqualTo(Map.of(Reason.TOKEN_STALE, 1L, Reason.SEQUENCER_INVALID, 1L));
        assertThat(counted.stats().waiting()).isZero();
        assertThat(copy.stats()).isEqualTo(counted.stats());
    }

    private PutObjectRequest plain(Map<String, String> metadata) {
        return PutObjectRequest.builder()
                .bucket(BUCKET)
                .key(key)
                .metadata(metadata)
                .build();
    }

    private void write(long token, String value) {
        fenced.write(grants.exclusive(token), order, RequestBody.fromString(value));
    }

    private Optional<String> read(long token) throws IOException {
        return text(fenced.read(grants.exclusive(token), order));
    }

    static Optional<String> text(Optional<ResponseInputStream<GetObjectResponse>> found) throws IOException {
        if (found.isEmpty()) {
            return Optional.empty();
        }
        try (ResponseInputStream<GetObjectResponse> body = found.get()) {
            return Optional.of(new String(body.readAllBytes(), UTF_8));
        }
    }

    private String value() {
        return CLIENT.getObjectAsBytes(request -> request.bucket(BUCKET).key(key))
                .asUtf8String()
                .strip();
    }

    private String eTag() {
        return CLIENT.headObject(request -> request.bucket(BUCKET).key(key)).eTag();
    }
}
