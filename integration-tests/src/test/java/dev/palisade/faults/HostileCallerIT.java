package dev.palisade.faults;

import static dev.palisade.faults.ProxyFixture.WAIT_MAX;
import static dev.palisade.faults.ProxyFixture.assertApplied;
import static dev.palisade.faults.ProxyFixture.violations;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.faults.Caller.Verb;
import dev.palisade.proto.v1.Mark;
import dev.palisade.scenario.Child;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * P13 in front of a service: a caller without a sequencer of the lock server raises no mark, and costs the proxy no
 * memory.
 */
@Execution(ExecutionMode.CONCURRENT)
class HostileCallerIT {
    private static final String KEY = "account/1";
    private static final List<String> SMALL_HEAP = List.of("-Xmx32m", "-XX:+ExitOnOutOfMemoryError");
    private static final int RANDOM_HEADERS = 2_000;
    private static final int RANDOM_CONNECTIONS = 300;
    private static final int FLOOD_BYTES = 64 << 20;

    private final Random random = new Random(7);

    private static ProxyFixture fixture() {
        return new ProxyFixture(installation -> new ProxiedStorage(
                installation,
                SMALL_HEAP,
                Duration.ofSeconds(20),
                "--reply-timeout-millis",
                "8000",
                "--backend-deadline-millis",
                "9000"));
    }

    @Test
    void unsignedSequencersRaiseNoMarkAndStopNothing() throws Exception {
        try (ProxyFixture fixture = fixture()) {
            Lease lease = fixture.acquire(KEY);
            Lease other = fixture.acquire("account/2");
            assertApplied(fixture.send(Verb.PUT, lease));
            Mark before = fixture.caller.mark(KEY, lease.sequencer());
            byte[] genuine = lease.sequencer().toBytes();

            for (Mode mode : Mode.values()) {
                Sequencer highest = new Sequencer(
                        "palisade", new LockName(KEY), mode, new FencingToken(FencingToken.MAX), new GrantId(1, 2), 1);
                byte[] foreign = SequencerKeys.generate().sign(highest).toBytes();
                assertRefused(fixture, Reason.SEQUENCER_INVALID, foreign);
                byte[] unsigned = foreign.clone();
                Arrays.fill(unsigned, unsigned.length - 16, unsigned.length, (byte) 0);
                assertRefused(fixture, Reason.SEQUENCER_INVALID, unsigned);
            }
            assertRefused(fixture, Reason.SEQUENCER_MISSING, null);
            assertRefused(fixture, Reason.WRONG_RESOURCE, other.sequencer().toBytes());
            for (int length = 0; length < genuine.length; length++) {
                assertInvalid(fixture, Arrays.copyOf(genuine, length));
                byte[] bent = genuine.clone();
                bent[length] ^= (byte) (1 << random.nextInt(8));
                assertInvalid(fixture, bent);
            }
            for (int i = 0; i < RANDOM_HEADERS; i++) {
                byte[] bytes = new byte[random.nextInt(1_000)];
                random.nextBytes(bytes);
                assertInvalid(fixture, bytes);
            }
            assertThatThrownBy(() -> fixture.caller.send(Verb.PUT, KEY, new byte[1 << 20]))
                    .as("a megabyte in the header")
                    .isInstanceOf(StatusRuntimeException.class);
            floods(fixture);
            randomConnections(fixture);

            assertThat(fixture.caller.mark(KEY, lease.sequencer())).isEqualTo(before);
            assertApplied(fixture.send(Verb.PUT, lease));
            assertThat(fixture.front.service().child().isAlive()).isTrue();
            Run run = fixture.finish();
            assertThat(violations(run)).isEmpty();
            assertThat(run.applied()).hasSize(2);
            assertThat(run.marks())
                    .last()
                    .satisfies(end -> assertThat(end.byResource()).containsOnlyKeys(KEY));
        }
    }

    private static void assertRefused(ProxyFixture fixture, Reason reason, byte @Nullable [] sequencer) {
        for (Verb verb : Verb.values()) {
            assertThat(fixture.caller.send(verb, KEY, sequencer))
                    .as(verb + ", expected " + reason)
                    .get()
                    .extracting(Rejection::reason)
                    .isEqualTo(reason);
        }
    }

    private void assertInvalid(ProxyFixture fixture, byte[] sequencer) {
        Verb verb = random.nextBoolean() ? Verb.CLAIM : Verb.PUT;
        assertThat(fixture.caller.send(verb, KEY, sequencer))
                .as(verb + " with " + sequencer.length + " bytes")
                .get()
                .extracting(Rejection::reason)
                .isEqualTo(Reason.SEQUENCER_INVALID);
    }

    /**
     * A header that never ends, beyond every limit that a polite client would respect: the proxy must close the
     * connection.
     */
    private static void floods(ProxyFixture fixture) throws IOException {
        try (Socket socket = connect(fixture)) {
            OutputStream out = socket.getOutputStream();
            out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            out.write(frame(4, 0, 0, new byte[0])); // SETTINGS
            ByteArrayOutputStream field = new ByteArrayOutputStream();
            byte[] name = "sequencer-bin".getBytes(StandardCharsets.US_ASCII);
            field.write(0); // A literal field with a new name, not indexed.
            field.write(name.length);
            field.write(name);
            field.write(new byte[] {0x7f, (byte) 0x81, (byte) 0xff, (byte) 0xff, 0x1f}); // 64 MiB of value follow.
            out.write(frame(1, 0, 1, field.toByteArray())); // HEADERS, not the last of them
            byte[] more = frame(9, 0, 1, new byte[16_000]); // CONTINUATION
            int written = 0;
            try {
                while (written < FLOOD_BYTES) {
                    out.write(more);
                    written += more.length;
                }
            } catch (IOException e) {
                // It hung up.
            }
            assertThat(written).as("bytes of header that the proxy took").isLessThan(FLOOD_BYTES);
        }
    }

    private static byte[] frame(int type, int flags, int stream, byte[] payload) {
        byte[] frame = new byte[9 + payload.length];
        frame[0] = (byte) (payload.length >> 16);
        frame[1] = (byte) (payload.length >> 8);
        frame[2] = (byte) payload.length;
        frame[3] = (byte) type;
        frame[4] = (byte) flags;
        frame[8] = (byte) stream;
        System.arraycopy(payload, 0, frame, 9, payload.length);
        return frame;
    }

    private void randomConnections(ProxyFixture fixture) throws IOException {
        for (int i = 0; i < RANDOM_CONNECTIONS; i++) {
            byte[] bytes = new byte[random.nextInt(100_000)];
            random.nextBytes(bytes);
            try (Socket socket = connect(fixture)) {
                try {
                    if (i % 2 == 0) {
                        socket.getOutputStream()
                                .write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    }
                    socket.getOutputStream().write(bytes);
                } catch (IOException e) {
                    // It hung up, as it may.
                }
            }
        }
    }

    private static Socket connect(ProxyFixture fixture) throws IOException {
        return new Socket(
                InetAddress.getLoopbackAddress(),
                Integer.parseInt(fixture.front.service().port()));
    }

    @Test
    void retiredKeyIsRefusedAndTheNextOneAdmitted() throws Exception {
        try (ProxyFixture fixture = fixture()) {
            Lease former = fixture.acquire(KEY);
            assertApplied(fixture.send(Verb.PUT, former));
            List<String> first = keys(fixture, "list");
            String oldKey = id(first.get(first.size() - 1));
            List<String> both = keys(fixture, "add");
            String newKey = both.stream()
                    .filter(line -> !line.startsWith("palisade"))
                    .map(HostileCallerIT::id)
                    .filter(id -> !id.equals(oldKey))
                    .findFirst()
                    .orElseThrow();
            keys(fixture, "promote", newKey);
            assertApplied(fixture.send(Verb.PUT, former));
            former.release();
            // The lock server takes up the new key within a second of its next use.
            Awaitility.await()
                    .atMost(WAIT_MAX)
                    .pollInterval(Duration.ofMillis(300))
                    .until(() -> {
                        Lease probe = fixture.acquire("probe");
                        probe.release();
                        return needsNot(oldKey, probe, fixture);
                    });
            keys(fixture, "retire", oldKey);
            Lease holder = fixture.acquire(KEY);

            Awaitility.await()
                    .atMost(WAIT_MAX)
                    .pollInterval(Duration.ofMillis(300))
                    .until(() -> fixture.send(Verb.CLAIM, former)
                            .map(Rejection::reason)
                            .equals(Optional.of(Reason.SEQUENCER_INVALID)));
            assertThat(fixture.caller.mark(KEY, holder.sequencer()).getExclusiveToken())
                    .isEqualTo(holder.token().value());
            assertApplied(fixture.send(Verb.PUT, holder));
            assertRefused(fixture, Reason.SEQUENCER_INVALID, former.sequencer().toBytes());
            assertThat(violations(fixture.finish())).isEmpty();
        }
    }

    /** Whether the lease's sequencer is genuine without the key {@code retired}. */
    private static boolean needsNot(String retired, Lease lease, ProxyFixture fixture) throws Exception {
        SequencerKeys all = SequencerKeys.ofJson(Files.readString(fixture.home().resolve("keys/sequencers.json")));
        try {
            var unused = all.retire(Integer.parseUnsignedInt(retired))
                    .verifier("palisade")
                    .verify(lease.sequencer());
            return true;
        } catch (RejectedException e) {
            return false;
        }
    }

    private static String id(String line) {
        return line.substring(0, line.indexOf(' '));
    }

    private static List<String> keys(ProxyFixture fixture, String... arguments) {
        List<String> command = Child.java(
                "-jar",
                fixture.installation()
                        .file("lock-server/target/palisade-server.jar")
                        .toString(),
                "keys");
        command.addAll(List.of(arguments));
        Child keys = Child.start(
                "keys", command, Map.of("PALISADE_HOME", fixture.home().toString()));
        List<String> printed = keys.remainingOutput();
        assertThat(keys.awaitExit())
                .as("exit code of keys, which printed " + printed)
                .isZero();
        return printed;
    }
}
