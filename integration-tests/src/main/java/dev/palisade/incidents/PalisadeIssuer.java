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
 * Palisade as token issuer: a lock server process on the store under test, and a client of it. Its claim is one second
 * and it has no grace period after a loss, so that tokens depend only on the token rule.
 */
final class PalisadeIssuer implements TokenIssuer {
    private static final Duration TTL = Duration.ofSeconds(1);
    /** Keys of all lock servers, because those of one store share them. */
    private static final SequencerKeys KEYS = SequencerKeys.generate();

    private static final Pattern LINKED = Pattern.compile("event=store_linked (?:primary|address)=([^ \"]+)");
    /** Upper bound of the delay of a log line of the server. */
    private static final long LOG_DELAY_NANOS_MAX = 150_000_000;

    private final Addresses addresses;
    private final Topology<?> topology;
    private final PrimarySource source;
    private final Installation home = Installation.fresh();
    private final Child server;
    private final PalisadeClient client;
    private final Map<String, Lease> leases = new ConcurrentHashMap<>();
    private volatile FollowedPrimary followed;

    /**
     * The primary that the server has to follow.
     *
     * @param sinceNanos when it certainly followed, by its log; {@link Long#MAX_VALUE}: not logged yet
     */
    private record FollowedPrimary(Node node, long sinceNanos) {}

    /** After a loss the active lock server waits for the holders. */
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
        followed = new FollowedPrimary(topology.primary(), Long.MAX_VALUE);
        this.source = source;
        makeKeyset();
        List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 2>&1", "sh"));
        command.addAll(Child.java(
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
                "palisade server", command, Map.of("PALISADE_HOME", home.home().toString()), this::onLogLine);
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

    private void onLogLine(String line) {
        Matcher matcher = LINKED.matcher(line);
        if (matcher.find()) {
            String address = matcher.group(1);
            topology.nodes().stream()
                    .filter(node -> addresses.of(node).equals(address))
                    .findFirst()
                    .ifPresent(this::onLinked);
        }
    }

    private synchronized void onLinked(Node node) {
        boolean expected = node == followed.node() && followed.sinceNanos() == Long.MAX_VALUE;
        if (expected || !source.isBinding()) {
            followed = new FollowedPrimary(node, System.nanoTime() + LOG_DELAY_NANOS_MAX);
        }
    }

    @Override
    public AttemptOutcome acquire(String lock, String owner) throws InterruptedException {
        FollowedPrimary before = followed;
        boolean certain = before.sinceNanos() < System.nanoTime();
        AcquireResult result = client.tryAcquire(lock, AcquireOptions.trying().ttl(TTL));
        if (result instanceof AcquireResult.Granted granted) {
            leases.put(owner, granted.lease());
            return new AttemptOutcome.Taken(
                    granted.lease().token().value(), certain && followed.equals(before) ? before.node() : null);
        }
        if (result instanceof AcquireResult.Unavailable unavailable) {
            String why = unavailable.rejection().toString();
            return unavailable.rejection().reason() == Reason.OUTCOME_UNKNOWN
                    ? new AttemptOutcome.Unknown(why)
                    : new AttemptOutcome.Refused(why);
        }
        return AttemptOutcome.HELD;
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
            followed = new FollowedPrimary(primary, Long.MAX_VALUE);
        }
        source.announce(addresses.of(primary));
    }

    @Override
    public void stopFollowing() {
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
