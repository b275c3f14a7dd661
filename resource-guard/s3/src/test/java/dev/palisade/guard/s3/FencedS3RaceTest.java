package dev.palisade.guard.s3;

import static dev.palisade.guard.s3.FencedS3Test.text;
import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.guard.Binding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;

/**
 * Sixteen grants at once on one object, each reading a log in it and writing it back with one more line, judged by
 * what S3Mock holds at the end: under the fence no line that was acknowledged may be missing, and tokens never fall.
 * Writes reach S3Mock one after another, because it compares and writes in two steps: of sixteen conditional writes
 * at once, two or three can win.
 */
class FencedS3RaceTest {
    private static final int THREADS = 16;
    private static final int CALLS = 4;
    private static final int ROUNDS_MAX = 20;
    private static final String BUCKET = TestS3.newVersionedBucket();
    private static final ExecutorService RACERS = Executors.newFixedThreadPool(THREADS);
    private static int rounds;

    /** A fence, right or wrong. */
    private interface Racer {
        String read(SignedSequencer signed, Binding binding) throws IOException;

        void write(SignedSequencer signed, Binding binding, String log);
    }

    private final Granted grants = new Granted("race");
    private final FaultyHttp http = new FaultyHttp();
    private final S3Client client = TestS3.client(http, TestS3.once());
    private final FencedS3 fenced = FencedS3.open(client, BUCKET, grants.verifier());

    @BeforeEach
    void makeWritesAtomic() {
        Object oneAtATime = new Object();
        http.onWrite = delivery -> {
            synchronized (oneAtATime) {
                return delivery.send();
            }
        };
    }

    @AfterAll
    static void end() throws InterruptedException {
        RACERS.shutdownNow();
        assertThat(RACERS.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void inARaceNoAcknowledgedWriteIsLost() throws Exception {
        for (int round = 0; round < 2; round++) {
            assertThat(violation(new Fenced())).isEmpty();
        }
    }

    @Test
    void storeThatComparesAndWritesInTwoStepsIsFound() throws Exception {
        http.onWrite = FaultyHttp.Delivery::send;
        assertFound(new Fenced());
    }

    @Test
    void unconditionalWritesAreFound() throws Exception {
        http.dropsConditions = true;
        assertFound(new Fenced());
    }

    @Test
    void readsThatDoNotRaiseTheMarkAreFound() throws Exception {
        assertFound(new Fenced() {
            @Override
            public String read(SignedSequencer signed, Binding binding) {
                return fenced.mark(binding.resource()).highest() == 0
                        ? ""
                        : client.getObjectAsBytes(request ->
                                                request.bucket(BUCKET).key(binding.resource()))
                                        .asUtf8String()
                                        .strip()
                                + "\n";
            }
        });
    }

    private class Fenced implements Racer {
        @Override
        public String read(SignedSequencer signed, Binding binding) throws IOException {
            return text(fenced.read(signed, binding)).orElse("");
        }

        @Override
        public void write(SignedSequencer signed, Binding binding, String log) {
            fenced.write(signed, binding, RequestBody.fromString(log));
        }
    }

    private void assertFound(Racer racer) throws Exception {
        Optional<String> violation = Optional.empty();
        for (int round = 0; round < ROUNDS_MAX && violation.isEmpty(); round++) {
            violation = violation(racer);
        }
        assertThat(violation).isPresent();
    }

    /** Runs one race on an object of its own and judges it. */
    private Optional<String> violation(Racer racer) throws Exception {
        Binding binding = new Binding("race-" + rounds++, new LockName("race"));
        AtomicInteger token = new AtomicInteger();
        Queue<Long> acknowledged = new ConcurrentLinkedQueue<>();
        Queue<Long> unknown = new ConcurrentLinkedQueue<>();
        Callable<Void> calls = () -> {
            for (int i = 0; i < CALLS; i++) {
                call(racer, binding, token.incrementAndGet(), acknowledged, unknown);
            }
            return null;
        };
        List<Callable<Void>> racers = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            racers.add(calls);
        }
        for (Future<Void> end : RACERS.invokeAll(racers)) {
            end.get();
        }
        assertThat(acknowledged).as("the race went somewhere").isNotEmpty();
        String log = racer.read(grants.exclusive(token.incrementAndGet()), binding);
        return firstViolation(log.lines().map(Long::valueOf).toList(), List.copyOf(acknowledged), List.copyOf(unknown));
    }

    private void call(Racer racer, Binding binding, long token, Queue<Long> acknowledged, Queue<Long> unknown)
            throws IOException {
        SignedSequencer signed = grants.exclusive(token);
        try {
            String log = racer.read(signed, binding);
            racer.write(signed, binding, log + token + "\n");
            acknowledged.add(token);
        } catch (RejectedException e) {
            assertThat(e.reason()).isIn(Reason.TOKEN_STALE, Reason.DRAINING, Reason.OUTCOME_UNKNOWN);
            if (e.reason() == Reason.OUTCOME_UNKNOWN) {
                unknown.add(token);
            }
        }
    }

    /** Properties P6 and P15 of the protocol. */
    private static Optional<String> firstViolation(List<Long> log, List<Long> acknowledged, List<Long> unknown) {
        for (int i = 1; i < log.size(); i++) {
            if (log.get(i) <= log.get(i - 1)) {
                return Optional.of("P6, " + log);
            }
        }
        List<Long> lost =
                acknowledged.stream().filter(token -> !log.contains(token)).toList();
        List<Long> refused = log.stream()
                .filter(token -> !acknowledged.contains(token) && !unknown.contains(token))
                .toList();
        return lost.isEmpty() && refused.isEmpty()
                ? Optional.empty()
                : Optional.of("P15, lost " + lost + ", refused but applied " + refused);
    }
}
