package dev.palisade.server.ownership;

import dev.palisade.server.ownership.Ownership.Phase;
import dev.palisade.server.ownership.SimulatedServer.Batch;
import dev.palisade.server.ownership.SimulatedServer.Reply;
import dev.palisade.server.ownership.WorldSetup.Fault;
import dev.palisade.server.ownership.WorldSetup.Planted;
import dev.palisade.server.ownership.WorldStep.Fate;
import dev.palisade.server.ownership.WorldStep.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Two lock servers, one log with a lagging copy, one lock and two clients, small enough to try every order of steps. A server
 * that can go on does so before time passes; each thing that goes wrong is a step of its own, and there are only so many. It
 * judges by what clients believe: a lease counts from when its batch was decided, because a request is sent before that.
 */
final class OwnershipWorld {
    /** @param rewritten memory, if the append completes what is rewritten */
    record Late(
            int server,
            @Nullable ClaimRequest claim,
            @Nullable AppendRequest append,
            List<Integer> entries,
            List<Integer> rewritten) {}

    /** Content at a position, as a list from the newest. */
    private record Known(
            Position position,
            int by,
            List<Integer> content,
            @Nullable Known older) {}

    final WorldSetup setup;
    long now;
    final SimulatedLog log;
    final SimulatedServer[] servers = new SimulatedServer[2];
    final long[] belief = new long[2];
    List<Integer> acknowledged = List.of();
    int grants;
    int faults;
    /** How many replies were not received at once. */
    int flights;

    Set<Fault> happened = Set.of();
    /** Whether nothing was done since time last passed. What comes back comes back then: later it makes no difference. */
    boolean tickBegins;

    private int writers;
    private WriterId lastWriter = WriterId.NONE;
    /** Whether the other server appended since this one's last claim. */
    private final boolean[] othersAppended = new boolean[2];
    /** Whether a claim of this server was refused because of those appends. */
    private final boolean[] told = new boolean[2];

    @Nullable
    Late late;

    private @Nullable Known known;
    private long settlingSince = -1;
    /** A takeover was forgotten by the log, and the server that made it was not there in time. */
    private boolean forgotten;

    boolean documented;

    @Nullable
    String violation;

    OwnershipWorld(WorldSetup setup) {
        this.setup = setup;
        this.log = new SimulatedLog(setup.rules());
        for (int i = 0; i < 2; i++) {
            servers[i] = new SimulatedServer(i, setup.machine().started(0));
        }
    }

    private OwnershipWorld(OwnershipWorld other) {
        this.setup = other.setup;
        this.now = other.now;
        this.log = new SimulatedLog(other.log);
        for (int i = 0; i < 2; i++) {
            servers[i] = new SimulatedServer(other.servers[i]);
            belief[i] = other.belief[i];
            othersAppended[i] = other.othersAppended[i];
            told[i] = other.told[i];
        }
        this.acknowledged = other.acknowledged;
        this.grants = other.grants;
        this.faults = other.faults;
        this.flights = other.flights;
        this.happened = other.happened;
        this.tickBegins = other.tickBegins;
        this.writers = other.writers;
        this.lastWriter = other.lastWriter;
        this.late = other.late;
        this.known = other.known;
        this.settlingSince = other.settlingSince;
        this.forgotten = other.forgotten;
        this.documented = other.documented;
        this.violation = other.violation;
    }

    @Nullable
    String violation() {
        return violation;
    }

    /** Two clients believed that they hold the lock, in the one case that is documented. */
    boolean isDocumentedOverlap() {
        return documented;
    }

    List<Phase> phases() {
        return List.of(servers[0].ownership.phase(), servers[1].ownership.phase());
    }

    List<WorldStep> possible() {
        return new WorldChoices(this).possible();
    }

    OwnershipWorld after(WorldStep step) {
        OwnershipWorld next = new OwnershipWorld(this);
        next.take(step);
        return next;
    }

    private void take(WorldStep step) {
        SimulatedServer server = step.server() < 0 || step.server() > 1 ? servers[0] : servers[step.server()];
        boolean comesBack = Set.of("tick", "start", "resume", "mend").contains(step.what());
        tickBegins = comesBack && (tickBegins || step.what().equals("tick"));
        Fault fault = step.fault();
        if (fault != null) {
            faults++;
            happened = Stream.concat(happened.stream(), Stream.of(fault)).collect(Collectors.toUnmodifiableSet());
        }
        switch (step.what()) {
            case "act" -> act(server, step.work(), step.fate());
            case "receive" -> receiveOldest(server);
            case "tick" -> now += WorldSetup.TICK;
            case "late" -> deliverLate();
            case "start" ->
                servers[server.number] = server.restarted(setup.machine().started(now));
            case "resume" -> server.paused = false;
            case "mend" -> server.cut = false;
            case "keep" -> believe(server, server.holder(), now);
            default -> takeFault(step, server);
        }
    }

    private void takeFault(WorldStep step, SimulatedServer server) {
        switch (step.what()) {
            case "crash" -> server.up = false;
            case "pause" -> {
                server.paused = true;
                server.bidAt = SimulatedServer.NONE;
            }
            case "stop" -> apply(server, setup.machine().stopping(server.ownership), List.of());
            case "restart" -> log.restart();
            case "empty" -> {
                log.restart();
                log.flush();
            }
            case "flush" -> log.flush();
            case "reload" -> log.reloadLibrary();
            case "loss" -> {
                log.restore(step.server());
                log.restart();
            }
            case "restore" -> log.restore(step.server());
            case "promoteAgain" -> {
                LogState.Seen seen = log.state.seen();
                log.restore(step.server());
                log.restart();
                LogState state = log.state;
                log.state = new LogState(state.head(), state.tokens(), state.instance(), seen, null);
            }
            default -> throw new IllegalStateException(step.what());
        }
        if (step.what().equals("crash")
                || step.what().equals("pause")
                || step.what().equals("stop")) {
            return;
        }
        settlingSince = -1;
        for (SimulatedServer each : servers) {
            each.bidAt = SimulatedServer.NONE;
            each.beatAt = SimulatedServer.NONE; // An owner appends more often than a log settles.
        }
    }

    private void act(SimulatedServer server, Work work, Fate fate) {
        Reply waiting = server.reply;
        if (waiting != null) {
            server.reply = null;
            handle(server, waiting);
            return;
        }
        switch (server.ownership.phase()) {
            case STANDBY, SUSPENDED -> {
                apply(server, setup.machine().tick(server.ownership, now), List.of());
                claim(server, fate);
            }
            case LOADING -> append(server, List.of(), fate, false, false);
            case ACTIVE -> {
                Batch batch = decide(server, work);
                server.batches = plus(server.batches, batch);
                append(server, List.of(batch), fate, false, false);
            }
            case FREEING -> append(server, List.of(), fate, false, false);
            case RESENDING -> {
                apply(server, setup.machine().tick(server.ownership, now), List.of());
                append(server, server.batches, fate, false, false);
            }
            case REWRITING -> append(server, List.of(), fate, server.part == 1, false);
            case YIELDING -> append(server, List.of(), fate, false, true);
            default -> throw new IllegalStateException("nothing to do");
        }
    }

    private Batch decide(SimulatedServer server, Work work) {
        if (work == Work.KEEP) {
            int client = server.holder();
            server.leaseEnd = now + WorldSetup.TTL;
            return new Batch(SimulatedServer.NONE, client, now);
        }
        if (work == Work.NOTHING) {
            return new Batch(SimulatedServer.NONE, SimulatedServer.NONE, now);
        }
        int client = work == Work.GRANT_0 ? 0 : 1;
        boolean another = server.holder() != SimulatedServer.NONE && server.holder() != client;
        if (another && now < server.servingSince + WorldSetup.TTL) {
            violated("a lease ended before its client could renew it");
        }
        int entry = ++grants * 2 + client;
        server.memory = plus(server.memory, entry);
        server.leaseEnd = now + WorldSetup.TTL;
        return new Batch(entry, client, now);
    }

    private void claim(SimulatedServer server, Fate fate) {
        ClaimRequest request = new ClaimRequest(
                new WriterId(0, ++writers),
                server.ownership.past(),
                server.id(),
                server.address(),
                server.returning,
                acknowledged.isEmpty(),
                false,
                WorldSetup.TTL);
        if (server.cut || fate == Fate.CUT_BEFORE || fate == Fate.CUT_AND_LATE) {
            if (fate == Fate.CUT_AND_LATE) {
                late = new Late(server.number, request, null, List.of(), List.of());
            }
            cutOff(server, fate);
            apply(server, setup.machine().claimFailed(server.ownership, now), List.of());
            return;
        }
        Reply reply = execute(server, request);
        if (fate == Fate.REPEATED_LATE) {
            late = new Late(server.number, request, null, List.of(), List.of());
        } else if (!(reply.claim() instanceof ClaimReply.Claimed)) {
            writers--; // Nobody has seen it.
        }
        receive(server, reply, fate);
    }

    private Reply execute(SimulatedServer server, ClaimRequest request) {
        LogState before = log.state;
        boolean whole = setup.rules().isWhole(before, request);
        if (!whole && (settlingSince < 0)) {
            settlingSince = now;
        }
        server.bidAt = now;
        ClaimReply reply = log.claim(request, now);
        if (reply instanceof ClaimReply.Claimed claimed) {
            lastWriter = claimed.writer();
            if (claimed.mine() && !claimed.whole() && !setup.resumes()) {
                violated("memory outlives a loss");
            } else if (claimed.mine() && othersAppended[server.number]) {
                judgeResume(server, claimed.whole(), before.seen());
            }
            othersAppended[server.number] = false;
            told[server.number] = false;
            settlingSince = -1;
        }
        return new Reply(reply, null, log.content);
    }

    /** A server goes on with its memory over a takeover that the log forgot: the other server is gone or late. */
    private void judgeResume(SimulatedServer server, boolean whole, LogState.@Nullable Seen seen) {
        SimulatedServer other = servers[1 - server.number];
        boolean inTime = other.bidAt >= settlingSince && other.bidAt < settlingSince + WorldSetup.TICK;
        boolean dueNow = now == settlingSince;

        if (whole) {
            violated("a log is whole that forgot a takeover");
        } else if (told[server.number]) {
            violated("memory is kept that was known to be superseded");
        } else if (seen != null && !seen.position().equals(Position.NONE) && seenOf(other, seen)) {
            violated("a process gives a log back that it saw another server append to");
        } else if (other.isAvailable() && !other.ownership.past().isNone() && (inTime || dueNow)) {
            violated("a server goes on over a takeover, although the server that took over is there");
        }
        forgotten = true;
    }

    private boolean seenOf(SimulatedServer other, LogState.Seen seen) {
        for (Known each = known; each != null; each = each.older()) {
            if (each.position().equals(seen.position())) {
                return each.by() == other.number;
            }
        }
        return false;
    }

    private void append(SimulatedServer server, List<Batch> sent, Fate fate, boolean last, boolean yields) {
        server.beatAt = now;
        server.mustSend = false;
        server.ownership = announced(server.ownership, last);
        Ownership owner = server.ownership;
        long ahead = owner.phase() == Phase.ACTIVE ? owner.pending() : 1;
        AppendRequest request = new AppendRequest(owner.granted().writer(), owner.seq() + ahead, 0, 0, yields, last);
        List<Integer> entries =
                sent.stream().filter(Batch::writes).map(Batch::entry).toList();
        Late message = new Late(server.number, null, request, entries, last ? server.memory : List.of());
        if (Set.of(Fate.CUT_AND_LATE, Fate.REPEATED_LATE, Fate.FLIES_LATE).contains(fate)) {
            late = message;
        }
        if (server.cut || fate == Fate.CUT_BEFORE || fate == Fate.CUT_AND_LATE) {
            cutOff(server, fate);
            failed(server, AppendFailure.UNKNOWN);
        } else if (fate == Fate.REFUSED) {
            failed(server, AppendFailure.REFUSED);
        } else if (fate == Fate.FLIES_REFUSED) {
            fly(server, AppendFailure.REFUSED);
        } else if (fate == Fate.FLIES_LATE) {
            fly(server, AppendFailure.UNKNOWN);
        } else {
            AppendFailure failure = store(message) ? null : AppendFailure.UNKNOWN;
            if (fate == Fate.FLIES || fate == Fate.FLIES_UNANSWERED) {
                fly(server, fate == Fate.FLIES ? failure : AppendFailure.UNKNOWN);
            } else {
                receive(server, new Reply(null, failure, log.content), fate);
            }
        }
    }

    private void fly(SimulatedServer server, @Nullable AppendFailure failure) {
        flights++;
        server.flying = plus(server.flying, new Reply(null, failure, log.content));
    }

    /** A failure counts when every later outcome is there: after it none is in flight. */
    private void receiveOldest(SimulatedServer server) {
        List<Reply> flying = server.flying;
        Reply oldest = flying.get(0);
        if (oldest.failure() == null) {
            server.flying = flying.subList(1, flying.size());
            handle(server, oldest);
            if (setup.planted().contains(Planted.ONE_REPLY_FOR_ALL)) {
                server.flying.forEach(each -> handle(server, oldest));
                server.flying = List.of();
            }
            return;
        }
        boolean onlyLast = setup.planted().contains(Planted.OUTCOME_OF_THE_LAST);
        boolean refused = (onlyLast ? flying.subList(flying.size() - 1, flying.size()) : flying)
                .stream().allMatch(each -> each.failure() == AppendFailure.REFUSED);
        failed(server, refused ? AppendFailure.REFUSED : AppendFailure.UNKNOWN);
    }

    private Ownership announced(Ownership owner, boolean last) {
        if (owner.phase() == Phase.FREEING) {
            return setup.machine().probing(owner);
        }
        return last ? setup.machine().sentLast(owner) : setup.machine().sent(owner);
    }

    private static <T> List<T> plus(List<T> list, T last) {
        List<T> longer = new ArrayList<>(list);
        longer.add(last);
        return List.copyOf(longer);
    }

    private boolean store(Late message) {
        AppendRequest request = Objects.requireNonNull(message.append());
        int server = message.server();
        List<Integer> content = message.rewritten();
        if (!request.switches()) {
            List<Integer> longer = new ArrayList<>(log.content);
            longer.addAll(message.entries());
            content = List.copyOf(longer);
        }
        boolean stored = log.append(request, content, now);
        if (!stored) {
            return false;
        }
        othersAppended[1 - server] = true;
        if (!request.writer().equals(lastWriter)) {
            violated("a batch of an older writer was stored after a claim");
        }
        Position position = new Position(request.writer(), request.seq());
        for (Known each = known; each != null; each = each.older()) {
            if (each.position().equals(position) && !each.content().equals(content)) {
                violated("two histories share a position: " + each.content() + " and " + content);
            }
        }
        known = new Known(position, server, content, known);
        return true;
    }

    private void cutOff(SimulatedServer server, Fate fate) {
        if (!server.cut && fate != Fate.REFUSED) {
            server.cut = true;
            server.bidAt = SimulatedServer.NONE;
        }
    }

    private void receive(SimulatedServer server, Reply reply, Fate fate) {
        switch (fate) {
            case CUT_AFTER -> {
                cutOff(server, fate);
                if (reply.claim() != null) {
                    apply(server, setup.machine().claimFailed(server.ownership, now), List.of());
                } else {
                    failed(server, AppendFailure.UNKNOWN);
                }
            }
            case PAUSED_AFTER -> {
                server.paused = true;
                server.bidAt = SimulatedServer.NONE;
                if (server.flying.isEmpty()) {
                    server.reply = reply;
                } else {
                    fly(server, reply.failure());
                }
            }
            default -> {
                if (server.flying.isEmpty()) {
                    handle(server, reply);
                } else {
                    fly(server, reply.failure());
                }
            }
        }
    }

    private void handle(SimulatedServer server, Reply reply) {
        OwnershipMachine machine = setup.machine();
        if (reply.claim() != null) {
            told[server.number] |= reply.claim() instanceof ClaimReply.Held && othersAppended[server.number];
            OwnershipStep step = machine.claimReplied(server.ownership, reply.claim(), now);
            if (reply.claim() instanceof ClaimReply.Claimed claimed) {
                server.returning = false;
                server.claimedAt = now;
                server.part = 0;
                judgeMemory(server, claimed, step, reply.content());
            }
            apply(server, step, reply.content());
        } else if (reply.failure() != null) {
            failed(server, AppendFailure.UNKNOWN);
        } else if (server.ownership.phase() == Phase.FREEING) {
            apply(server, machine.probed(server.ownership), reply.content());
        } else {
            boolean rewriting = server.ownership.phase() == Phase.REWRITING;
            apply(server, machine.appended(server.ownership), reply.content());
            if (rewriting) {
                server.part++;
                server.mustSend = server.ownership.phase() == Phase.REWRITING;
            }
            if (server.ownership.phase() == Phase.LOADING
                    && now >= server.claimedAt + setup.loadTicks() * WorldSetup.TICK) {
                apply(server, machine.loaded(server.ownership), reply.content());
            }
        }
    }

    private void failed(SimulatedServer server, AppendFailure failure) {
        server.flying = List.of();
        boolean forgets = setup.planted().contains(Planted.OTHER_BATCH);
        if (forgets
                && server.ownership.phase() == Phase.ACTIVE
                && server.batches.get(0).writes()) {
            int entry = server.batches.get(0).entry();
            server.memory = server.memory.stream().filter(each -> each != entry).toList();
            server.ownership = server.ownership.withPending(0);
            server.batches = List.of();
            return;
        }
        apply(server, setup.machine().appendFailed(server.ownership, failure, now), List.of());
    }

    /** Memory is kept only if the log's history is part of it, and only as much is resent as is missing. */
    private void judgeMemory(
            SimulatedServer server, ClaimReply.Claimed claimed, OwnershipStep step, List<Integer> content) {
        if (step.actions().contains(OwnershipAction.LOAD)) {
            return;
        }
        List<Integer> memory = server.memory;
        boolean part = content.size() <= memory.size()
                && memory.subList(0, content.size()).equals(content);
        if (!part) {
            violated("memory " + memory + " is kept over the history " + content);
        }
        int missing = memory.size() - content.size();
        int from = server.batches.size() - step.next().pending();
        long resent = step.actions().contains(OwnershipAction.RESEND)
                ? server.batches.stream().skip(from).filter(Batch::writes).count()
                : 0;
        if (!step.actions().contains(OwnershipAction.REWRITE) && missing != resent) {
            violated("memory " + memory + " goes on from " + content + " after " + claimed);
        }
    }

    private void apply(SimulatedServer server, OwnershipStep step, List<Integer> content) {
        server.ownership = step.next();
        for (OwnershipAction action : step.actions()) {
            switch (action) {
                case ACKNOWLEDGE -> acknowledge(server, content);
                case LOAD -> {
                    server.memory = content;
                    server.recoveringUntil = 0;
                    server.batches = List.of();
                }
                case SERVE, SERVE_FREEING -> serve(server, content);
                case DROP -> {
                    server.memory = List.of();
                    server.batches = List.of();
                }
                case RESEND, REWRITE, YIELD -> server.mustSend = true;
                case CLAIM, SUSPEND, STOP -> {}
            }
        }
    }

    private void serve(SimulatedServer server, List<Integer> content) {
        if (!server.memory.equals(content)) {
            violated("serves " + server.memory + " from a log that holds " + content);
        }
        long from = setup.planted().contains(Planted.LEASES_FROM_THE_CLAIM) ? server.claimedAt : now;
        server.leaseEnd = from + WorldSetup.TTL;
        server.servingSince = now;
        server.recoveringUntil =
                Math.max(server.recoveringUntil, server.ownership.granted().recoveringUntilMillis());
    }

    private void acknowledge(SimulatedServer server, List<Integer> content) {
        if (server.batches.isEmpty()) {
            return;
        }
        Batch batch = server.batches.get(0);
        server.batches = server.batches.subList(1, server.batches.size());
        if (batch.writes()) {
            if (!content.contains(batch.entry())) {
                violated("acknowledged " + batch + ", and the log holds " + content);
            }
            acknowledged = plus(acknowledged, batch.entry());
        }
        if (batch.client() >= 0 && (batch.writes() || belief[batch.client()] > now)) {
            believe(server, batch.client(), batch.decidedAt());
        }
    }

    private void believe(SimulatedServer server, int client, long since) {
        long until = since + WorldSetup.TTL;
        if (until <= now) {
            return; // Late: the client knows that its time is over.
        }
        belief[client] = Math.max(belief[client], until);
        if (belief[1 - client] > now) {
            if (forgotten && setup.resumes()) {
                documented = true;
            } else {
                violated("server " + server.number + " told client " + client + " that it holds the lock until " + until
                        + ", and client " + (1 - client) + " believes so until " + belief[1 - client]);
            }
        }
    }

    private void deliverLate() {
        Late message = Objects.requireNonNull(late);
        late = null;
        if (message.claim() != null) {
            ClaimReply reply = log.claim(message.claim(), now);
            if (reply instanceof ClaimReply.Claimed claimed) {
                lastWriter = claimed.writer();
                settlingSince = -1;
            }
        } else if (message.append() != null) {
            store(message);
        }
    }

    private void violated(String what) {
        if (violation == null) {
            violation = what;
        }
    }

    long fingerprint() {
        Digest digest = new Digest();
        digest.add(now)
                .add(belief[0])
                .add(belief[1])
                .add(acknowledged)
                .add(grants)
                .add(faults)
                .add(flights);
        digest.add(tickBegins).add(happened.hashCode());
        digest.add(writers)
                .add(lastWriter.low())
                .add(settlingSince)
                .add(forgotten)
                .add(documented)
                .add(violation != null);
        log.addTo(digest);
        for (SimulatedServer server : servers) {
            server.addTo(digest);
            digest.add(othersAppended[server.number]).add(told[server.number]);
            digest.add(settlingSince < 0 ? -1 : server.bidAt);
        }
        digest.add(late != null);
        if (late != null) {
            digest.add(late.server()).add(late.entries());
            digest.add(
                    late.append() == null
                            ? 0
                            : late.append().writer().low() * 1000
                                    + late.append().seq());
            digest.add(late.claim() == null ? 0 : late.claim().writer().low());
        }
        return digest.value();
    }
}
