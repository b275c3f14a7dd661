package dev.palisade.server.store.log;

import dev.palisade.contract.EventLog;
import dev.palisade.server.core.StoreStatus;
import dev.palisade.server.ownership.ClaimReply;
import dev.palisade.server.ownership.ClaimRequest;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** One lock server's client of a {@link MemoryLogServer}. */
final class MemoryStorage implements BatchStorage {
    private final MemoryLogServer server;
    private final Queue<String> warnings = new ConcurrentLinkedQueue<>();
    private boolean owns;
    private boolean cut;
    private int looks;
    private int loads;
    private Runnable whileLoading = () -> {};
    private boolean holdsReplies;
    private final Deque<Runnable> held = new ArrayDeque<>();

    MemoryStorage(MemoryLogServer server) {
        this.server = server;
    }

    /** @param init whether a log that is empty is a new one */
    FencedLog log(String address, boolean init, long recoveryMillis, SigningKeys keys) {
        FencedLog log = new BatchedLog(
                this,
                new BatchedLog.Candidate(address, init, recoveryMillis, SharedLogs.settings(address), keys),
                server.random(),
                new EventLog(line -> {}, warnings::add, System::nanoTime, 1_000));
        return (FencedLog) Proxy.newProxyInstance(
                FencedLog.class.getClassLoader(), new Class<?>[] {FencedLog.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("send")) {
                        arguments[1] = holding((FencedLog.Sent) arguments[1]);
                    }
                    try {
                        return method.invoke(log, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getTargetException();
                    }
                });
    }

    private FencedLog.Sent holding(FencedLog.Sent sent) {
        return failure -> {
            if (holdsReplies) {
                held.add(() -> sent.replied(failure));
            } else {
                sent.replied(failure);
            }
        };
    }

    /** Lines of level WARN so far. */
    List<String> warnings() {
        return List.copyOf(warnings);
    }

    /** Whether nothing of this client arrives. */
    void cut(boolean isCut) {
        cut = isCut;
    }

    private void reach() throws LogFailure {
        if (cut) {
            throw LogFailure.unknown("cut off");
        }
    }

    /** Happens before the owner's next reads, each time. */
    void whileLoading(Runnable happens) {
        whileLoading = happens;
    }

    /** From now on the outcomes of batches that are sent, and not synced, wait for {@link #reply}. */
    void holdReplies() {
        holdsReplies = true;
    }

    /** Delivers all outcomes that are held, and holds none from now on. */
    void holdNoReplies() {
        holdsReplies = false;
        while (!held.isEmpty()) {
            held.remove().run();
        }
    }

    /** Delivers the oldest outcome that was held, on this thread. */
    void reply() {
        held.remove().run();
    }

    /** How many outcomes are held. */
    int sending() {
        return held.size();
    }

    /** How often a standby looked at the log, before it read a part of it. */
    int looks() {
        return looks;
    }

    /** How often an owner read the log from its start. */
    int loads() {
        return loads;
    }

    @Override
    public String kind() {
        return "memory";
    }

    @Override
    public String name() {
        return "Memory log";
    }

    @Override
    public String path() {
        return "here";
    }

    @Override
    public String pathOf(long generation, long number) {
        return "batch " + number + " of generation " + generation;
    }

    @Override
    public Optional<StoreStatus.SharedLog> status() {
        return Optional.empty();
    }

    @Override
    public Claim claim(ClaimRequest request, String keyId, String settings) throws LogFailure {
        reach();
        Claim claim = server.claim(request, keyId, settings);
        owns = claim.reply() instanceof ClaimReply.Claimed;
        return claim;
    }

    @Override
    public Optional<Contents> look() throws LogFailure {
        reach();
        looks++;
        return server.look();
    }

    @Override
    public List<byte @Nullable []> read(long generation, long first, long end) throws LogFailure {
        reach();
        if (owns) {
            whileLoading.run();
            loads += first == server.span().first() ? 1 : 0;
        }
        return server.read(generation, first, end);
    }

    @Override
    public void append(Append append, byte[] bytes, FencedLog.Sent sent) {
        sent.replied(failure(append, bytes));
    }

    private @Nullable LogFailure failure(Append append, byte[] bytes) {
        try {
            reach();
            server.append(append, bytes);
            return null;
        } catch (LogFailure e) {
            return e;
        }
    }

    @Override
    public void close() {}
}
