package dev.palisade.incidents;

import dev.palisade.client.AcquireOptions;
import dev.palisade.client.AcquireResult;
import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A lock server of our own as a process, which keeps its locks in the store under test, and a client of it. Other than its defaults: a claim
 * of one second, and no grace after a loss, so that tokens come at once and nothing but the token rule stands between them.
 */
final class PalisadeIssuer implements TokenIssuer {
    private static final Duration TTL = Duration.ofSeconds(1);
    /** Of all lock servers here: those of one store have the same. */
    private static final SequencerKeys KEYS = SequencerKeys.generate();

    private static final Pattern LINKED = Pattern.compile("event=store_linked (?:primary|address)=([^ \"]+)");
    /** What a line of the server's log takes to come here, and more. */
    private static final long LOG_LATE_NANOS = 150_000_000;

    private final Addresses addresses;
    private final Topology<?> topology;
    private final PrimarySource source;
    private final Installation home = Installation.fresh();
    private final Child server;
    private final PalisadeClient client;
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();
    private volatile Followed followed;

    /**
     * Whom the server is to follow.
     *
     * @param sinceNanos since when it surely does, by its own word; {@link Long#MAX_VALUE}: it has not said so
     */
    private record Followed(Node node, long sinceNanos) {}

    /** After a loss the active lock server waits for the holders; clients of the other one wait in any case. */
    static PalisadeIssuer waiting(Topology<?> topology, Addresses addresses, PrimarySource source) {
        return new PalisadeIssuer(topology, addresses, source, "wait");
    }

    /** After a loss the active lock server writes its memory back. */
    static PalisadeIssuer resuming(Topology<?> topology, Addresses addresses, PrimarySource source) {
        return new PalisadeIssuer(topology, addresses, source, "resume");
    }

    private PalisadeIssuer(Topology<?> topology, Addresses addresses, PrimarySource source, String afterLoss) {
        this.topology = topology;
        this.addresses = addresses;
        followed = new Followed(topology.primary(), Long.MAX_VALUE);
        this.source = source;
        makeKeyset();
        List<String> both = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>&1", "sh"));
        both.addAll(Child.java(
                "-jar",
                Installation.jar("lock-server/target/palisade-server.jar"),
                "server",
                "--port",
                "0",
                "--store",
                source.uri(),
                "--advertise",
                home.home().getFileName() + ":7600",
                "--claim",
                "1s",
                "--after-loss",
                afterLoss,
                "--failover-grace",
                "0s"));
        server = Child.start(
                "palisade server", both, Map.of("PALISADE_HOME", home.home().toString()), this::heard);
        String listening = server.await(line -> line.contains("listening on "), Duration.ofSeconds(60));
        client = PalisadeClient.builder()
                .servers(listening
                        .substring(listening.indexOf("listening on ") + 13)
                        .strip())
                .owner("incidents")
                .callTimeout(Duration.ofSeconds(3))
                .build();
    }

    private void makeKeyset() {
        try {
            KeysetFile.openOrCreate(home.home().resolve("keys/sequencers.json")).replace(KEYS);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void heard(String line) {
        Matcher linked = LINKED.matcher(line);
        if (linked.find()) {
            String address = linked.group(1);
            topology.nodes().stream()
                    .filter(node -> addresses.of(node).equals(address))
                    .findFirst()
                    .ifPresent(this::linked);
        }
    }

    private synchronized void linked(Node node) {
        boolean expected = node == followed.node() && followed.sinceNanos() == Long.MAX_VALUE;
        if (expected || !source.isBinding()) {
            followed = new Followed(node, System.nanoTime() + LOG_LATE_NANOS);
        }
    }

    @Override
    public Answer acquire(String lock, String owner) throws InterruptedException {
        Followed before = followed;
        boolean sure = before.sinceNanos() < System.nanoTime();
        AcquireResult result = client.tryAcquire(lock, AcquireOptions.trying().ttl(TTL));
        if (result instanceof AcquireResult.Granted granted) {
            leases.put(owner, granted.lease());
            return new Answer.Taken(
                    granted.lease().token().value(), sure && followed.equals(before) ? before.node() : null);
        }
        if (result instanceof AcquireResult.Unavailable unavailable) {
            String why = unavailable.rejection().toString();
            return unavailable.rejection().reason() == Reason.OUTCOME_UNKNOWN
                    ? new Answer.Unknown(why)
                    : new Answer.Refused(why);
        }
        return Answer.HELD;
    }

    @Override
    public void release(String lock, String owner) {
        Lease lease = leases.remove(owner);
        if (lease != null) {
            lease.close();
        }
    }

    @Override
    public synchronized void follow(Node primary) {
        if (primary != followed.node()) {
            followed = new Followed(primary, Long.MAX_VALUE);
        }
        source.announce(addresses.of(primary));
    }

    @Override
    public void cutOff() {
        source.stopAnnouncing();
    }

    @Override
    public void pause() {
        server.pause();
    }

    @Override
    public void resume() {
        server.resume();
    }

    @Override
    public String counter(String lock) {
        return "log";
    }

    @Override
    public void close() {
        client.close();
        server.close();
        source.close();
        home.close();
    }
}
