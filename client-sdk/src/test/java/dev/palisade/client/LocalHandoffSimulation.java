package dev.palisade.client;

import com.google.protobuf.ByteString;
import dev.palisade.contract.FencingToken;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.Event;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LostEvent;
import dev.palisade.proto.v1.Reply;
import dev.palisade.proto.v1.ResumedGrant;
import dev.palisade.proto.v1.ServerFrame;
import dev.palisade.proto.v1.WaitEnd;
import dev.palisade.proto.v1.WaitEndedEvent;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A random simulation of one client and a model of one lock. The seed decides what callers, network and server do next.
 */
final class LocalHandoffSimulation implements AutoCloseable {
    private static final Granted NOBODY = Granted.getDefaultInstance();
    private static final long[] WAITS_MILLIS = {0, 50, 300, 2_000, 2_000, 20_000, 20_000};

    private final Random random;
    private final FakeTime time = new FakeTime();
    private final ScriptedServer server = new ScriptedServer();
    /** Queued tasks of the loop. In every other simulation they run later than they are submitted, as in production. */
    private final Deque<Runnable> tasks = new ArrayDeque<>();

    private final PalisadeClient client;
    private final List<String> log = new ArrayList<>();
    private boolean calm;

    // ---- the callers
    private final List<CompletableFuture<AcquireResult>> asked = new ArrayList<>();
    private final List<Lease> open = new ArrayList<>();
    private final List<Lease> closed = new ArrayList<>();
    private final List<CompletableFuture<?>> releases = new ArrayList<>();
    private long lastToken;
    private String wrong = "";
    int handedOver;
    int lost;
    int cancelledBeforeHandoff;

    // ---- the server
    private final Map<Long, AcquireRequest> queue = new LinkedHashMap<>();
    /** Number of acquires when a request was first sent. */
    private final Map<Long, Integer> askedBefore = new HashMap<>();
    /** The last reply that confirmed a grant as held until then, by its token. */
    private final Map<Long, Integer> affirmed = new HashMap<>();
    /** Calls are served in the order in which they were sent. */
    private final Deque<Call> underWay = new ArrayDeque<>();

    private int answers;
    private boolean unheard;
    private Granted holder = NOBODY;
    private AcquireRequest heldFor = AcquireRequest.getDefaultInstance();
    private boolean accepted;
    private int stream;
    private boolean kept;
    private long heldUntilNanos;

    LocalHandoffSimulation(int seed) {
        random = new Random(seed);
        log.add("seed " + seed);
        server.script = this::arrives;
        server.resumeManyMax = seed % 3 == 0 ? 0 : 256;
        server.knowsRenewsNothing = seed % 5 != 0;
        client = PalisadeClient.builder()
                .servers("scripted:1")
                .owner("simulation")
                .callTimeout(Duration.ofSeconds(5))
                .channelFactory(server::channel)
                .time(time.clocks(), time)
                .execution(seed % 2 == 0 ? Runnable::run : tasks::add, this::runTasksInsteadOfBlocking, () -> 0.5)
                .callbackExecutor(Runnable::run)
                .build();
        settle();
    }

    void run() {
        for (int i = 0; i < 200; i++) {
            step();
            settle();
        }
        calm = true;
        breakOff();
        pass(5_000);
        if (chance(20)) {
            log.add("close");
            client.close();
            queue.clear(); // A request whose offer had lapsed ends with the session. It would be declined at its
            // next offer.
        }
        for (int i = 0; i < 300 && !isOver(); i++) {
            List.copyOf(open).forEach(this::release);
            offerNext();
            pass(200);
            // Not only when the lease ends, which would confirm all of its hand-offs.
            require(releases.stream().allMatch(CompletableFuture::isDone), "a release is not confirmed");
        }
        require(
                isOver(),
                "left behind: " + asked.stream().filter(each -> !each.isDone()).count() + " acquires, "
                        + releases.stream().filter(each -> !each.isDone()).count() + " releases, in the queue "
                        + queue.keySet() + ", held token " + holder.getToken());
        settle(); // Tells it.
    }

    private boolean isOver() {
        return asked.stream().allMatch(CompletableFuture::isDone)
                && releases.stream().allMatch(CompletableFuture::isDone)
                && queue.isEmpty()
                && !held();
    }

    private void step() {
        int what = random.nextInt(100);
        boolean linked = !server.link().cancelled;
        if (what < 30) {
            acquire();
        } else if (what < 38 && !asked.isEmpty()) {
            cancel(random.nextInt(asked.size()));
        } else if (what < 56) {
            offerNext();
        } else if (what < 74 && !open.isEmpty()) {
            release(open.get(random.nextInt(open.size())));
        } else if (what < 77 && !closed.isEmpty()) {
            closed.get(random.nextInt(closed.size())).close(); // Closing again has no effect.
        } else if (what < 83 && linked) {
            serveWhatIsUnderWay();
        } else if (what < 92) {
            pass(new int[] {1, 3, 30, 200, 1_000, 4_000}[random.nextInt(6)]);
        } else if (what < 94) {
            breakOff();
        } else if (what < 96 && linked && held()) {
            // Only while the client is connected: without a connection it may believe in its lease.
            push(Event.newBuilder()
                    .setLost(LostEvent.newBuilder()
                            .setLock(Fixture.LOCK)
                            .setGrantId(holder.getGrantId())
                            .setReason(dev.palisade.proto.v1.LostReason.LOST_FORCE_RELEASED)));
            end("forced");
        } else if (what < 98 && linked && !queue.isEmpty()) {
            long id = queue.keySet().iterator().next();
            queue.remove(id);
            push(Event.newBuilder()
                    .setWaitEnded(WaitEndedEvent.newBuilder()
                            .setRequestId(id)
                            .setEnd(chance(50) ? WaitEnd.WAIT_DROPPED : WaitEnd.WAIT_TIMED_OUT)));
        } else {
            time.passUnnoticedMillis(random.nextInt(3_000));
        }
    }

    // ---- what callers do

    private void acquire() {
        int number = asked.size();
        long waitMillis = WAITS_MILLIS[random.nextInt(WAITS_MILLIS.length)];
        AcquireOptions options = AcquireOptions.waiting(
                        chance(30) ? AcquireOptions.WAIT_ENDLESS : Duration.ofMillis(waitMillis))
                .purpose(chance(5) ? "else" : "");
        log.add("acquire " + number + " for " + options.waitTime());
        boolean brief = chance(10);
        CompletableFuture<AcquireResult> result = client.acquireAsync(Fixture.LOCK, options);
        asked.add(result);
        var unused = result.thenAccept(outcome -> {
            if (outcome instanceof AcquireResult.Granted granted) {
                got(granted.lease(), brief);
            }
        });
    }

    private void got(Lease lease, boolean brief) {
        long token = lease.token().value();
        log.add("token " + token);
        require(token > lastToken, "token " + token + " after " + lastToken);
        lastToken = token;
        if (token != first(lease) && lease.isValid()) {
            handedOver++;
            boolean certain =
                    first(lease) == holder.getToken() && stream == server.links.size() && !server.link().cancelled;
            require(certain, "handed off, but the server may see it otherwise");
        }
        open.add(lease);
        if (brief) {
            release(lease);
        }
    }

    private void release(Lease lease) {
        log.add("release " + lease.token());
        open.remove(lease);
        closed.add(lease);
        int before = answers;
        releases.add(lease.releaseAsync().thenAccept(outcome -> {
            lost += outcome == ReleaseOutcome.ALREADY_LOST ? 1 : 0;
            boolean said = affirmed.getOrDefault(first(lease), 0) > before;
            require(outcome != ReleaseOutcome.RELEASED || said, lease + " is released, which the server never said");
        }));
    }

    private void cancel(int number) {
        log.add("cancel " + number);
        boolean waitsForHandoff = !asked.get(number).isDone()
                && lastToken >= holder.getToken()
                && held()
                && number < askedBefore.getOrDefault(heldFor.getRequestId(), 0)
                && heldFor.getTurns() == holder.getTurnsCount() + 1;
        cancelledBeforeHandoff += waitsForHandoff ? 1 : 0;
        asked.get(number).cancel(false);
    }

    /** The first token of the lease's grant. */
    private static long first(Lease lease) {
        long token = lease.token().value();
        return token - (token - 1) % FencingToken.PER_GRANT;
    }

    // ---- what the network does

    private void pass(long millis) {
        log.add(millis + " ms");
        for (long left = millis; left > 0; left -= 200) {
            time.advanceMillis(Math.min(200, left));
            settle();
        }
    }

    private void breakOff() {
        log.add("break");
        unheard = true;
        while (!underWay.isEmpty() && chance(60)) {
            Reply.Builder unused = decide(underWay.remove());
        }
        unheard = false;
        server.link().breakOff();
    }

    private Reply.@Nullable Builder arrives(Call call) {
        if (call.hasAcquire()) {
            askedBefore.putIfAbsent(call.getAcquire().getRequestId(), asked.size());
        }
        if (!calm && (!underWay.isEmpty() || chance(10))) {
            underWay.add(call);
            return null;
        }
        return decide(call);
    }

    private void serveWhatIsUnderWay() {
        for (int i = underWay.size(); i > 0; i--) {
            Call call = underWay.remove();
            server.link().answer(call, decide(call));
        }
    }

    private void push(Event.Builder event) {
        server.link().push(ServerFrame.newBuilder().addEvents(event));
    }

    /** Runs the tasks of the loop and the timers of the server, then compares both. */
    private void settle() {
        runTasks();
        if (server.link().cancelled) {
            underWay.clear();
        }
        boolean keeps = accepted && stream == server.links.size() && !server.link().cancelled;
        if (kept || keeps) {
            heldUntilNanos = time.nanos() + ScriptedServer.TTL_MILLIS * 1_000_000;
        }
        kept = keeps;
        if (held() && heldUntilNanos - time.nanos() <= 0) {
            if (!accepted) {
                queue.put(heldFor.getRequestId(), heldFor);
            }
            end("expired");
        }
        List<Lease> valid = open.stream().filter(Lease::isValid).toList();
        require(valid.size() <= 1, "two are valid");
        require(valid.stream().allMatch(lease -> first(lease) == holder.getToken()), "valid, but not at the server");
        if (!wrong.isEmpty()) {
            throw new AssertionError(wrong + "; " + log.get(0) + ", at last\n"
                    + String.join("\n", log.subList(Math.max(0, log.size() - 40), log.size())));
        }
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
            task.run();
        }
    }

    private boolean runTasksInsteadOfBlocking(CompletableFuture<?> awaited, Duration limit) {
        runTasks();
        return true;
    }

    /** Told at the end of the step: the client catches what a callback throws. */
    private void require(boolean right, String otherwise) {
        if (!right && wrong.isEmpty()) {
            wrong = otherwise;
        }
    }

    // ---- what the server does

    private Reply.Builder decide(Call call) {
        answers++;
        log.add("  " + call.getCallCase());
        if (!calm && chance(6)) {
            return ScriptedServer.rejected(chance(50) ? "STORE_UNAVAILABLE" : "OUTCOME_UNKNOWN");
        }
        return switch (call.getCallCase()) {
            case ACQUIRE -> acquire(call.getAcquire());
            case ACCEPT -> isHeld(call.getAccept().getGrantId()) ? ScriptedServer.accepted(bound()) : notHolder();
            case RENEW -> isHeld(call.getRenew().getGrantId()) && accepted ? affirmed(call) : notHolder();
            case RELEASE -> {
                Reply.Builder reply = isHeld(call.getRelease().getGrantId()) ? affirmed(call) : notHolder();
                if (reply.hasRelease()) {
                    end("released");
                }
                yield reply;
            }
            case RESUME -> {
                if (isHeld(call.getResume().getGrantId()) && !calm && !unheard && chance(20)) {
                    end("not resumed");
                }
                if (!isHeld(call.getResume().getGrantId())) {
                    yield notHolder();
                }
                Granted unused = bound();
                yield affirmed(call);
            }
            case RESUME_MANY -> {
                Reply.Builder reply = server.grantAll(call);
                for (ResumedGrant grant : call.getResumeMany().getGrantsList()) {
                    if (!isHeld(grant.getGrantId()) || (!calm && chance(20))) {
                        reply.getResumeManyBuilder().addNotResumed(grant.getGrantId());
                    } else {
                        Granted unused = bound();
                        Reply.Builder unusedToo = affirmed(call);
                    }
                }
                yield reply;
            }
            case LEAVE -> {
                queue.remove(call.getLeave().getRequestId());
                if (heldFor.getRequestId() == call.getLeave().getRequestId()) {
                    end("left");
                }
                yield server.grantAll(call);
            }
            default -> server.grantAll(call);
        };
    }

    private Reply.Builder acquire(AcquireRequest request) {
        if (held() && heldFor.getRequestId() == request.getRequestId()) {
            return ScriptedServer.granted(bound());
        }
        if (!queue.containsKey(request.getRequestId()) && !held() && queue.isEmpty() && chance(20)) {
            hold(request);
            return ScriptedServer.granted(bound());
        }
        if (!queue.containsKey(request.getRequestId()) && !calm && chance(5)) {
            return chance(50) ? ScriptedServer.rejected("QUEUE_FULL") : ScriptedServer.timedOut();
        }
        queue.put(request.getRequestId(), request);
        return ScriptedServer.queued();
    }

    private void offerNext() {
        if (held() || queue.isEmpty() || server.link().cancelled) {
            return;
        }
        AcquireRequest next = queue.values().iterator().next();
        queue.remove(next.getRequestId());
        hold(next);
        log.add("offer token " + holder.getToken() + " and turns " + holder.getTurnsCount());
        long offerMillis = chance(80) ? 2_000 : 100;
        heldUntilNanos = time.nanos() + offerMillis * 1_000_000;
        long seen = chance(70) ? server.link().newestSentNanos() : 0;
        server.link().offer(next.getRequestId(), holder, offerMillis, seen);
    }

    private void hold(AcquireRequest request) {
        server.turnsMax = !calm && chance(20) ? 1 + random.nextInt(3) : FencingToken.PER_GRANT;
        holder = server.grant(request);
        heldFor = request;
        stream = server.links.size();
    }

    private Granted bound() {
        accepted = true;
        stream = server.links.size();
        heldUntilNanos = time.nanos() + ScriptedServer.TTL_MILLIS * 1_000_000;
        return holder;
    }

    private void end(String why) {
        log.add(why);
        holder = NOBODY;
        heldFor = AcquireRequest.getDefaultInstance();
        accepted = false;
    }

    private boolean held() {
        return holder.getToken() > 0;
    }

    private boolean isHeld(ByteString grantId) {
        return held() && holder.getGrantId().equals(grantId);
    }

    private Reply.Builder affirmed(Call call) {
        affirmed.put(holder.getToken(), answers);
        return server.grantAll(call);
    }

    private static Reply.Builder notHolder() {
        return ScriptedServer.rejected("NOT_HOLDER");
    }

    private boolean chance(int percent) {
        return random.nextInt(100) < percent;
    }

    @Override
    public void close() {
        time.stop();
        server.close();
    }
}
