package dev.palisade.client;

import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import io.grpc.stub.StreamObserver;
import java.lang.System.Logger.Level;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A check that at most one lock server of a client is active. Several active servers share no locks, so a lock can have
 * several holders. Two checks must find the same servers: for a moment after a takeover, two may be active. In the loop
 * only.
 */
final class ActiveServersCheck {
    private static final System.Logger LOG = System.getLogger(ActiveServersCheck.class.getName());
    /** So many checks find the same servers before they are reported, and none finds one of them inactive in between. */
    private static final int CONFIRMED = 2;

    private final Loop loop;
    private final long timeoutNanos;
    private final Map<Target, Finding> findings = new HashMap<>();

    /**
     * Two servers that are both active.
     *
     * @param servers their identities
     * @param times number of checks that found them
     */
    private record Finding(Set<String> servers, int times) {}

    /** @param timeoutNanos for the reply of each server */
    ActiveServersCheck(Loop loop, long timeoutNanos) {
        this.loop = loop;
        this.timeoutNanos = timeoutNanos;
    }

    /**
     * Records the health of a server without the session.
     *
     * @param used the server of the session
     * @param isActive whether the other server says that it is active
     */
    void checked(Target used, Target other, boolean isActive) {
        if (isActive) {
            ask(used, one -> ask(other, two -> compared(used, one, other, two)));
        } else {
            findings.remove(other);
        }
    }

    private void ask(Target target, Consumer<StoreReply> replied) {
        LocksGrpc.newStub(target.channel())
                .withDeadlineAfter(timeoutNanos, TimeUnit.NANOSECONDS)
                .store(StoreRequest.getDefaultInstance(), new StreamObserver<>() {
                    @Override
                    public void onNext(StoreReply reply) {
                        loop.execute(() -> replied.accept(reply));
                    }

                    @Override
                    public void onError(Throwable failure) {
                        // Not allowed, or away: nothing can be said.
                    }

                    @Override
                    public void onCompleted() {}
                });
    }

    private void compared(Target used, StoreReply one, Target other, StoreReply two) {
        if (!one.getUp() || !two.getUp()) {
            findings.remove(other);
            return;
        }
        if (!areTwo(one, two)) {
            return; // Such as when a load balancer leads to the server of the session.
        }
        // Whichever of them has the session now.
        Set<String> servers = Set.of(one.getServer(), two.getServer());
        Finding before = findings.get(other);
        int times = before != null && before.servers().equals(servers) ? before.times() + 1 : 1;
        findings.put(other, new Finding(servers, times));
        if (times == CONFIRMED) {
            LOG.log(Level.WARNING, warning(used.address(), other.address()));
        }
    }

    private static String warning(String used, String other) {
        String both = " active and share no locks, so a lock can have several holders; ";
        String same = "; if they have the same, each uses another primary of it: stop the older one";
        return used.equals(other)
                ? "two lock servers behind " + used + " are both" + both
                        + "run one of them, or give them the same --store and --store-prefix" + same
                : "lock servers " + used + " and " + other + " are both" + both
                        + "give them the same --store and --store-prefix, or this client the addresses of one log"
                        + same;
    }

    /** Servers of an earlier release have no identity. */
    private static boolean areTwo(StoreReply one, StoreReply two) {
        return !one.getServer().isEmpty()
                && !two.getServer().isEmpty()
                && !one.getServer().equals(two.getServer());
    }
}
