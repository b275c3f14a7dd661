package dev.palisade.replicas;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Sequencer;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * One replica whose guard shares a register in PostgreSQL. Reads calls from standard input, one a line: {@code write TOKEN}, or
 * {@code hold TOKEN} for one that writes when it reads {@code go}, unless it was asked to stop. The backend is a socket.
 * Arguments: URL of the database, port of the backend, lease and &#916; in milliseconds.
 */
public final class SharingProcess {
    /** Each replica signs the sequencers of the calls that it is sent: what is under test begins behind the signature. */
    private static final SequencerKeys KEYS = SequencerKeys.generate();

    private SharingProcess() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        PGSimpleDataSource database = new PGSimpleDataSource();
        database.setURL(args[0]);
        int backend = Integer.parseInt(args[1]);
        Guard guard = Guard.builder(
                        KEYS.verifier("palisade"),
                        MarkStore.shared(database, Duration.ofMillis(Long.parseLong(args[2]))))
                .unknownOutcomeTimeout(Duration.ofMillis(Long.parseLong(args[3])))
                .maxWait(Duration.ofMinutes(1))
                .takeOverAfterLease()
                .build();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            long token = Long.parseLong(words[1]);
            boolean holds = words[0].equals("hold");
            try (Admission admission = guard.enter(sequencer(token), Access.WRITE, Binding.of("orders/42"))) {
                if (holds) {
                    AtomicBoolean stopped = new AtomicBoolean();
                    admission.onSuperseded(() -> {
                        stopped.set(true);
                        System.out.println("asked to stop " + token);
                    });
                    System.out.println("in " + token);
                    var unused = in.readLine();
                    if (stopped.get()) {
                        System.out.println("stopped " + token);
                        continue;
                    }
                }
                apply(backend, token);
                System.out.println("applied " + token);
            } catch (RejectedException e) {
                System.out.println("refused " + token + " " + e.rejection().reason() + " "
                        + e.rejection().message());
            }
        }
    }

    private static SignedSequencer sequencer(long token) {
        return KEYS.sign(new Sequencer(
                "palisade",
                new LockName("orders/42"),
                Mode.EXCLUSIVE,
                new FencingToken(token),
                new GrantId(1, token),
                0));
    }

    private static void apply(int backend, long token) throws IOException {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), backend)) {
            OutputStream out = socket.getOutputStream();
            out.write((token + "\n").getBytes(StandardCharsets.US_ASCII));
            out.flush();
            var unused = socket.getInputStream().read();
        }
    }
}
