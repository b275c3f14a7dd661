package dev.palisade.scenario;

import com.google.protobuf.ByteString;
import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SessionId;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.GetObjectReply;
import dev.palisade.proto.v1.GetObjectRequest;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.ObjectsGrpc;
import dev.palisade.proto.v1.PutObjectRequest;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A client of its own process, told what to do line by line and answering in one line each: the service whose pause the
 * scenarios are about. Uses the SDK as any service would.
 *
 * <pre>
 * acquire LOCK TTL_MILLIS WAIT_MILLIS   granted TOKEN | not-granted RESULT
 * acquire-claiming LOCK TTL_MILLIS WAIT_MILLIS   as acquire, claimed at the object storage
 * read KEY                              read TOKEN_OF_WRITER TEXT | refused REASON ...
 * write KEY TEXT                        written VERSION | refused REASON ... | unknown STATUS
 * prepare KEY TEXT                      prepared, then waits for the line "go" and answers as write does
 * look KEY                              read ..., without a sequencer: for onlookers
 * release                               released OUTCOME
 * valid                                 valid true | valid false REASON
 * until                                 until NANOS, by System.nanoTime: when the lease ends unless it is renewed
 * acquire-unary LOCK TTL_MILLIS         granted TOKEN, by one call without a session; nobody renews it
 * </pre>
 *
 * <p>With {@code http://GATEWAY,http://SERVICE} in place of the object storage's address, the texts are those of {@link HttpTexts}.
 */
public final class Actor {
    private final String server;
    private final PalisadeClient client;
    private final ObjectsGrpc.ObjectsBlockingStub objects;
    private final @Nullable HttpTexts texts;
    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private @Nullable Lease lease;

    private Actor(String server, PalisadeClient client, ManagedChannel channel, @Nullable HttpTexts texts) {
        this.texts = texts;
        this.server = server;
        this.client = client;
        this.objects = ObjectsGrpc.newBlockingStub(channel);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        HttpTexts texts = args[2].startsWith("http:") ? new HttpTexts(args[2]) : null;
        // Without object storage the channel is never used.
        ChannelCredentials credentials = SecuredHome.credentials(System.getenv());
        ManagedChannel channel = Grpc.newChannelBuilder(texts == null ? args[2] : args[1], credentials)
                .build();
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(args[1].split(","))
                .owner(args[0])
                .credentials(credentials)
                .build()) {
            new Actor(args[1], client, channel, texts).run();
        } finally {
            channel.shutdownNow();
        }
    }

    private void run() throws IOException, InterruptedException {
        say("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 4);
            switch (words[0]) {
                case "acquire" -> acquire(words[1], options(words[2], words[3]));
                case "acquire-claiming" ->
                    acquire(words[1], options(words[2], words[3]).claiming(objects.getChannel()));
                case "read" -> call(() -> read(words[1]));
                case "look" -> call(() -> texts == null ? read(objects, words[1], true) : texts.look(words[1]));
                case "write" -> write(words[1], words[2]);
                case "prepare" -> prepare(words[1], words[2]);
                case "release" -> say("released " + held().release());
                case "valid" ->
                    say("valid " + held().isValid()
                            + held().lostReason().map(reason -> " " + reason).orElse(""));
                case "until" ->
                    say("until " + (System.nanoTime() + held().validFor().toNanos()));
                case "acquire-unary" -> acquireUnary(words[1], Long.parseLong(words[2]));
                default -> say("what? " + line);
            }
        }
    }

    private static AcquireOptions options(String ttlMillis, String waitMillis) {
        return AcquireOptions.waiting(Duration.ofMillis(Long.parseLong(waitMillis)))
                .ttl(Duration.ofMillis(Long.parseLong(ttlMillis)));
    }

    private void acquire(String lock, AcquireOptions options) throws InterruptedException {
        var result = client.tryAcquire(lock, options);
        if (result instanceof AcquireResult.Granted granted) {
            Lease taken = granted.lease();
            lease = taken;
            say("granted " + taken.token());
        } else {
            say("not-granted " + result);
        }
    }

    private void acquireUnary(String lock, long ttlMillis) {
        ManagedChannel channel = Grpc.newChannelBuilder(server, InsecureChannelCredentials.create())
                .build();
        var reply = LocksGrpc.newBlockingStub(channel)
                .withDeadlineAfter(10, TimeUnit.SECONDS)
                .acquire(AcquireRequest.newBuilder()
                        .setLock(lock)
                        .setMode(Mode.EXCLUSIVE)
                        .setTtlMillis(ttlMillis)
                        .setRequestId(1)
                        .setSessionId(ByteString.copyFrom(new SecureRandom().generateSeed(SessionId.BYTES)))
                        .build());
        say(reply.hasGranted() ? "granted " + reply.getGranted().getToken() : "not-granted " + reply);
        channel.shutdown();
    }

    private void prepare(String key, String text) throws IOException {
        say("prepared");
        String line = in.readLine();
        if ("go".equals(line)) {
            write(key, text);
        }
    }

    private String read(String key) {
        return texts == null ? read(held().attach(objects), key, false) : texts.read(held(), key);
    }

    private void write(String key, String text) {
        call(() -> {
            if (texts != null) {
                return texts.write(held(), key, text);
            }
            var reply = held().attach(objects)
                    .withDeadlineAfter(10, TimeUnit.SECONDS)
                    .put(PutObjectRequest.newBuilder()
                            .setKey(key)
                            .setContent(ByteString.copyFromUtf8(text))
                            .build());
            return "written " + reply.getVersion();
        });
    }

    private static String read(ObjectsGrpc.ObjectsBlockingStub stub, String key, boolean unfenced) {
        GetObjectReply reply = stub.withDeadlineAfter(10, TimeUnit.SECONDS)
                .get(GetObjectRequest.newBuilder()
                        .setKey(key)
                        .setUnfenced(unfenced)
                        .build());
        return "read " + reply.getToken() + " " + reply.getContent().toStringUtf8();
    }

    private interface Call {
        String run();
    }

    private static void call(Call call) {
        try {
            say(call.run());
        } catch (StatusRuntimeException e) {
            say(Rejections.ofThrowable(e).map(Actor::refused).orElse("unknown " + e.getStatus()));
        }
    }

    private static String refused(Rejection rejection) {
        return "refused " + rejection.reason() + " presented="
                + rejection.metadata().get(Rejection.PRESENTED_TOKEN) + " mark="
                + rejection.metadata().get(Rejection.MARK_TOKEN) + " applied="
                + rejection.metadata().get(Rejection.APPLIED) + " " + rejection.message();
    }

    private Lease held() {
        if (lease == null) {
            throw new IllegalStateException("acquire first");
        }
        return lease;
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
