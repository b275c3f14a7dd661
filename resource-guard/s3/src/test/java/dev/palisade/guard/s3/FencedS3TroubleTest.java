package dev.palisade.guard.s3;

import static dev.palisade.guard.s3.FencedS3Test.text;
import static dev.palisade.guard.s3.Granted.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.Binding;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.SequenceInputStream;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.HttpExecuteResponse;
import software.amazon.awssdk.retries.api.RetryStrategy;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Exception;

/** {@link FencedS3} when a holder is paused, replies are lost, and a store does not do what it should. */
class FencedS3TroubleTest {
    private static final String BUCKET = TestS3.newBucket();
    private static final RequestBody NEW = RequestBody.fromString("new");
    private static int objects;

    private final String key = "object-" + objects++;
    private final Binding object = Binding.of(key);
    private final Granted grants = new Granted(key);
    private final FaultyHttp http = new FaultyHttp();
    /** Another client, without faults. */
    private final FencedS3 other = FencedS3.open(TestS3.CLIENT, BUCKET, grants.verifier());

    @AfterEach
    void close() {
        http.close();
    }

    private FencedS3 fenced(RetryStrategy retries) {
        return FencedS3.open(TestS3.client(http, retries), BUCKET, grants.verifier());
    }

    private FencedS3 fenced() {
        return fenced(TestS3.once());
    }

    /** Runs once, at the next write, and then never. */
    private void atNextWrite(FaultyHttp.Fault fault) {
        http.onWrite = delivery -> {
            http.onWrite = FaultyHttp.Delivery::send;
            return fault.run(delivery);
        };
    }

    private static HttpExecuteResponse cut() throws IOException {
        throw new IOException("the connection was cut");
    }

    @Test
    void writeOfAPausedHolderIsRefused() {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, RequestBody.fromString("old"));
        atNextWrite(delivery -> {
            other.write(grants.exclusive(34), object, RequestBody.fromString("newer"));
            return delivery.send();
        });
        Rejection late = refused(() -> fenced.write(grants.exclusive(33), object, NEW), Reason.TOKEN_STALE);
        assertThat(late.metadata()).containsEntry(Rejection.APPLIED, "no").containsEntry(Rejection.MARK_TOKEN, "34");
        assertThat(value()).isEqualTo("newer");
    }

    /** With an ETag of the body alone, this write would fit. */
    @Test
    void writeOfAPausedHolderIsRefusedAlthoughTheBodyIsTheSameAgain() {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, RequestBody.fromString("old"));
        lateWrite(fenced, 33, () -> other.claim(grants.exclusive(34), object));
        lateWrite(fenced, 34, () -> other.claim(grants.shared(35), object));
        lateWrite(fenced, 36, () -> other.write(grants.exclusive(37), object, RequestBody.fromString("old")));
    }

    private void lateWrite(FencedS3 fenced, long token, Runnable newer) {
        atNextWrite(delivery -> {
            newer.run();
            return delivery.send();
        });
        refused(() -> fenced.write(grants.exclusive(token), object, NEW), Reason.TOKEN_STALE);
        assertThat(value()).isEqualTo("old");
    }

    @Test
    void firstWriteOfAPausedHolderIsRefused() throws IOException {
        FencedS3 fenced = fenced();
        atNextWrite(delivery -> {
            assertThat(other.read(grants.exclusive(34), object)).isEmpty();
            return delivery.send();
        });
        refused(() -> fenced.write(grants.exclusive(33), object, NEW), Reason.TOKEN_STALE);
        assertThat(text(other.read(grants.exclusive(34), object))).isEmpty();
    }

    @Test
    void olderCallInBetweenIsComparedAgain() {
        FencedS3 fenced = fenced();
        atNextWrite(delivery -> {
            other.write(grants.exclusive(33), object, RequestBody.fromString("old"));
            return delivery.send();
        });
        fenced.write(grants.exclusive(34), object, NEW);
        assertThat(value()).isEqualTo("new");
        assertThat(other.mark(key).exclusiveToken()).isEqualTo(34);
    }

    @Test
    void objectThatIsGoneInBetweenIsComparedAgain() {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, RequestBody.fromString("old"));
        atNextWrite(delivery -> {
            TestS3.CLIENT.deleteObject(request -> request.bucket(BUCKET).key(key));
            return delivery.send();
        });
        fenced.write(grants.exclusive(34), object, NEW);
        assertThat(value()).isEqualTo("new");
    }

    @Test
    void repeatByTheSdkOfAnAppliedWriteIsRecognised() {
        FencedS3 fenced = fenced(AwsRetryStrategy.standardRetryStrategy());
        AtomicInteger sent = new AtomicInteger();
        http.onWrite = delivery -> {
            HttpExecuteResponse reply = delivery.send();
            return sent.incrementAndGet() == 1 ? cut() : reply;
        };
        fenced.write(grants.exclusive(34), object, NEW);
        assertThat(sent).as("the SDK repeated it, the fence did not").hasValue(2);
        assertThat(value()).isEqualTo("new");
    }

    @Test
    void repeatByTheSdkAfterANewerWriteIsUnknown() {
        FencedS3 fenced = fenced(AwsRetryStrategy.standardRetryStrategy());
        fenced.claim(grants.exclusive(34), object);
        atNextWrite(delivery -> {
            delivery.send();
            other.write(grants.exclusive(35), object, RequestBody.fromString("newer"));
            return cut();
        });
        Rejection rejection = refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.OUTCOME_UNKNOWN);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertThat(value()).isEqualTo("newer");
    }

    @Test
    void lostReplyOfAnAppliedWriteIsFoundOut() {
        FencedS3 fenced = fenced();
        atNextWrite(delivery -> {
            delivery.send();
            return cut();
        });
        fenced.write(grants.exclusive(34), object, NEW);
        atNextWrite(delivery -> {
            delivery.send();
            return FaultyHttp.reply(503);
        });
        fenced.write(grants.exclusive(34), object, RequestBody.fromString("next"));
        assertThat(value()).isEqualTo("next");
    }

    @Test
    void writeThatMayStillArriveIsUnknownAndCanBeFoundOutLater() throws Exception {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, RequestBody.fromString("old"));
        FaultyHttp.Delivery[] held = new FaultyHttp.Delivery[1];
        atNextWrite(delivery -> {
            held[0] = delivery;
            return cut();
        });
        Rejection rejection = refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.OUTCOME_UNKNOWN);
        String writeId = rejection.metadata().getOrDefault(FencedS3.WRITE_ID, "");
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "unknown");
        assertThat(rejection.message()).contains("now or later").contains(writeId);
        assertThat(fenced.writeId(key)).isPresent().isNotEqualTo(Optional.of(writeId));
        held[0].send();
        assertThat(fenced.writeId(key)).contains(writeId);
        assertThat(value()).isEqualTo("new");
    }

    @Test
    void writeThatArrivesAfterANewerGrantIsNotApplied() throws Exception {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, RequestBody.fromString("old"));
        FaultyHttp.Delivery[] held = new FaultyHttp.Delivery[1];
        atNextWrite(delivery -> {
            held[0] = delivery;
            return cut();
        });
        refused(() -> fenced.write(grants.exclusive(33), object, NEW), Reason.OUTCOME_UNKNOWN);
        assertThat(text(other.read(grants.exclusive(34), object))).contains("old");
        assertThat(held[0].send().httpResponse().statusCode()).isEqualTo(412);
        assertThat(value()).isEqualTo("old");
    }

    @Test
    void conflictIsComparedAgain() {
        FencedS3 fenced = fenced();
        atNextWrite(delivery -> FaultyHttp.reply(409));
        fenced.write(grants.exclusive(34), object, NEW);
        assertThat(value()).isEqualTo("new");
        atNextWrite(delivery -> {
            other.claim(grants.exclusive(35), object);
            return FaultyHttp.reply(409);
        });
        Rejection rejection = refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.OUTCOME_UNKNOWN);
        assertThat(rejection.metadata()).containsKey(FencedS3.WRITE_ID);
    }

    @Test
    void callThatAlwaysLosesGivesUp() {
        FencedS3 fenced = fenced();
        AtomicInteger tries = new AtomicInteger();
        http.onWrite = delivery -> {
            tries.incrementAndGet();
            other.write(grants.exclusive(34), object, RequestBody.fromString("mine, too"));
            return delivery.send();
        };
        Rejection rejection = refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.DRAINING);
        assertThat(rejection.metadata()).containsEntry(Rejection.APPLIED, "no");
        assertThat(tries).hasValue(FencedCall.TRIES_MAX);
        assertThat(value()).isEqualTo("mine, too");
    }

    @Test
    void bodyThatCannotBeReadAgainIsUnknownNotNotApplied() {
        FencedS3 fenced = fenced();
        RequestBody stream = RequestBody.fromInputStream(
                new SequenceInputStream(new ByteArrayInputStream(new byte[1]), new ByteArrayInputStream(new byte[2])),
                3);
        atNextWrite(delivery -> {
            other.claim(grants.exclusive(33), object);
            return delivery.send();
        });
        refused(() -> fenced.write(grants.exclusive(34), object, stream), Reason.OUTCOME_UNKNOWN);
    }

    @Test
    void storeThatIsDownOrRefusesIsNamed() {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(34), object, NEW);
        http.onRead = delivery -> cut();
        assertThat(refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.STORE_UNAVAILABLE)
                        .metadata())
                .containsEntry(Rejection.APPLIED, "no");
        http.onRead = delivery -> FaultyHttp.reply(503);
        refused(() -> fenced.read(grants.exclusive(34), object), Reason.STORE_UNAVAILABLE);
        http.onRead = delivery -> FaultyHttp.reply(403);
        assertThat(refused(() -> fenced.mark(key), Reason.MARK_UNAVAILABLE).message())
                .contains("s3:ListBucket");
        http.onRead = FaultyHttp.Delivery::send;
        http.onWrite = delivery -> FaultyHttp.reply(403);
        refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.MARK_UNAVAILABLE);
        http.onWrite = delivery -> FaultyHttp.reply(400);
        assertThatThrownBy(() -> fenced.write(grants.exclusive(34), object, NEW))
                .isInstanceOf(S3Exception.class);
        http.onWrite = delivery -> {
            http.onRead = read -> cut();
            return cut();
        };
        refused(() -> fenced.write(grants.exclusive(34), object, NEW), Reason.OUTCOME_UNKNOWN);
    }

    @Test
    void taggedObjectIsNotWrittenAgain() {
        FencedS3 fenced = fenced();
        fenced.write(grants.exclusive(33), object, NEW);
        http.onRead = delivery -> {
            HttpExecuteResponse reply = delivery.send();
            return HttpExecuteResponse.builder()
                    .response(reply.httpResponse().toBuilder()
                            .putHeader("x-amz-tagging-count", "1")
                            .build())
                    .responseBody(reply.responseBody().orElse(null))
                    .build();
        };
        assertThatThrownBy(() -> fenced.claim(grants.exclusive(34), object))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("has tags");
        assertThat(other.mark(key).exclusiveToken()).isEqualTo(33);
    }

    @Test
    void checkAtTheStartIsRunAgainWhenTheSdkRefusedItsOwnWrite() {
        atNextWrite(delivery -> {
            delivery.send();
            return cut();
        });
        fenced(AwsRetryStrategy.standardRetryStrategy()).write(grants.exclusive(34), object, NEW);
        assertThat(value()).isEqualTo("new");
    }

    @Test
    void storeThatIgnoresConditionsIsRefusedAtTheStart() {
        http.dropsConditions = true;
        assertThatThrownBy(this::fenced)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("ignores If-None-Match")
                .hasMessageContaining("nothing can be guarded there");
        http.dropsConditions = false;
        http.dropsIfMatch = true;
        assertThatThrownBy(this::fenced).hasMessageContaining("ignores If-Match");
        http.dropsIfMatch = false;
        http.dropsMetadata = true;
        assertThatThrownBy(this::fenced).hasMessageContaining("does not give metadata back");
        http.dropsMetadata = false;
        fenced();
        S3Client client = TestS3.CLIENT;
        assertThat(client.listObjectsV2(request -> request.bucket(BUCKET).prefix(BucketProbe.PREFIX))
                        .contents())
                .as("the objects of the check are removed")
                .isEmpty();
        assertThatThrownBy(() -> FencedS3.open(client, "no-such-bucket", grants.verifier()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("cannot be tried");
    }

    private String value() {
        return TestS3.CLIENT
                .getObjectAsBytes(request -> request.bucket(BUCKET).key(key))
                .asUtf8String()
                .strip();
    }
}
