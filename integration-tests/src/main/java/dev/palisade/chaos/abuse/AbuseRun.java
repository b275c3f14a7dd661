package dev.palisade.chaos.abuse;

import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Runs floods against one server and judges each. */
final class AbuseRun {
    /** What the documentation promises others while a flood lasts. */
    static final double P99_MILLIS_MAX = 500;

    private static final Duration RECOVERY = Duration.ofSeconds(15);
    private static final long LOOK_MILLIS = 100;
    private static final int SESSIONS_PAGE = 1_000;
    /** Connections of probes and channels that are still closing, and journal files that are being changed. */
    private static final int FILES_SLACK = 16;

    private final String address;
    private final InetSocketAddress server;
    private final long pid;
    private final Duration length;
    private final boolean judgesTime;
    private long number = System.nanoTime();

    /**
     * @param address host and port of the server, on loopback
     * @param pid of the server; below 1 when it is not known
     * @param length of each flood
     * @param judgesTime whether p99 and time-outs of the probe count; they say little on a machine with other work
     */
    AbuseRun(String address, InetSocketAddress server, long pid, Duration length, boolean judgesTime) {
        this.address = address;
        this.server = server;
        this.pid = pid;
        this.length = length;
        this.judgesTime = judgesTime;
    }

    FloodResult run(Flood flood) throws InterruptedException {
        ProcessState before = ProcessState.of(pid);
        ManagedChannel others = LatencyProbe.channel(address);
        LatencyProbe probe = new LatencyProbe(others, ++number);
        int[] done = {0, 0};
        ProcessState meanwhile;
        boolean warm = within(RECOVERY, () -> probe.once());
        Thread prober = new Thread(probe, "abuse-probe");
        try {
            if (flood == Flood.UNREAD_REPLIES) {
                // Ends with its channel.
                LongQueue.at(others, Flood.LONG_LOCK, ++number);
            }
            prober.start();
            meanwhile = attack(flood, done);
            probe.stop();
            prober.join();
        } finally {
            probe.stop();
            others.shutdownNow();
        }
        List<String> broken = new ArrayList<>();
        require(broken, warm, "no lock could be taken before the flood");
        boolean lockTaken = within(RECOVERY, () -> takesALock());
        require(broken, lockTaken, "no lock could be taken within 15 s after the flood");
        boolean gone = within(RECOVERY, () -> sessionsLeft() == 0);
        require(broken, gone, "the attacker's sessions are still listed 15 s after it has gone");
        boolean closed = before.files() < 0
                || within(RECOVERY, () -> ProcessState.of(pid).files() <= before.files() + FILES_SLACK);
        require(broken, closed, "the attacker's connections are still open 15 s after it has gone");
        require(
                broken,
                pid < 1 || ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false),
                "the server is gone");
        if (judgesTime) {
            double p99 = probe.millis(99);
            require(broken, p99 < P99_MILLIS_MAX, "p99 of others is " + Math.round(p99) + " ms, the bound is 500 ms");
            require(broken, probe.timeouts() == 0, probe.timeouts() + " calls of others timed out");
        }
        return new FloodResult(
                flood,
                done[0],
                done[1],
                probe.calls(),
                probe.millis(50),
                probe.millis(99),
                probe.millis(100),
                probe.timeouts(),
                probe.failures(),
                lockTaken,
                sessionsLeft(),
                meanwhile,
                ProcessState.of(pid),
                List.copyOf(broken));
    }

    /** Fills {@code done}: steps, and how often the server ended the connection. What is kept open stays so to the end. */
    private ProcessState attack(Flood flood, int[] done) throws InterruptedException {
        long end = System.nanoTime() + length.toNanos();
        while (done[0] < flood.countMax() && System.nanoTime() < end) {
            try (Attack attack = new Attack(server, ++number)) {
                do {
                    attack.next(flood);
                    done[0]++;
                } while (done[0] < flood.countMax() && System.nanoTime() < end);
                while (System.nanoTime() < end) {
                    TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
                }
                return ProcessState.of(pid);
            } catch (IOException e) {
                done[1]++;
            }
        }
        return ProcessState.of(pid);
    }

    private boolean takesALock() {
        ManagedChannel fresh = LatencyProbe.channel(address);
        try {
            return new LatencyProbe(fresh, ++number).once();
        } finally {
            fresh.shutdownNow();
        }
    }

    /** Of the attacker, listed by the server; -1 when it does not say. */
    private int sessionsLeft() {
        ManagedChannel fresh = LatencyProbe.channel(address);
        try {
            int left = 0;
            String page = "";
            do {
                SessionsReply reply = LocksGrpc.newBlockingStub(fresh)
                        .withDeadlineAfter(RECOVERY.toMillis(), TimeUnit.MILLISECONDS)
                        .sessions(SessionsRequest.newBuilder()
                                .setPageSize(SESSIONS_PAGE)
                                .setPageToken(page)
                                .build());
                for (ListedSession session : reply.getSessionsList()) {
                    left += session.getOwner().equals(Attack.OWNER) ? 1 : 0;
                }
                page = reply.getNextPageToken();
            } while (!page.isEmpty());
            return left;
        } catch (StatusRuntimeException e) {
            return -1;
        } finally {
            fresh.shutdownNow();
        }
    }

    private static boolean within(Duration limit, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (true) {
            if (holds.getAsBoolean()) {
                return true;
            }
            if (System.nanoTime() > end) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        }
    }

    private static void require(List<String> broken, boolean holds, String otherwise) {
        if (!holds) {
            broken.add(otherwise);
        }
    }
}
