package dev.palisade.client;

import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import io.grpc.stub.StreamObserver;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * A check that one lock server at most of those that the client was given is active. Several share no locks, so a lock can
 * have several holders. Two comparisons in a row must find the same servers: after a takeover two may be active for a
 * moment. In the loop only.
 */
final class ActiveServersCheck {
    private static final System.Logger LOG = System.getLogger(ActiveServersCheck.class.getName());

    private final Loop loop;
    private final long timeoutNanos;
    private final BiConsumer<Level, String> lines;
    /** Identities of two servers that were both active at the last comparison; empty: of none. */
    private String suspected = "";

    private String reported = "";

    /** @param timeoutNanos for the reply of each server */
    ActiveServersCheck(Loop loop, long timeoutNanos) {
        this(loop, timeoutNanos, LOG::log);
    }

    ActiveServersCheck(Loop loop, long timeoutNanos, BiConsumer<Level, String> lines) {
        this.loop = loop;
        this.timeoutNanos = timeoutNanos;
        this.lines = lines;
    }

    /** Compares the server of the session with another one that says that it is active. */
    void compare(Target used, Target other) {
        ask(used, one -> ask(other, two -> compared(used, one, other, two)));
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
        boolean areTwo = one.getUp()
                && two.getUp()
                && !one.getServer().isEmpty()
                && !two.getServer().isEmpty()
                && !one.getServer().equals(two.getServer());
        String pair = areTwo ? one.getServer() + " " + two.getServer() : "";
        if (areTwo && pair.equals(suspected) && !pair.equals(reported)) {
            reported = pair;
            lines.accept(
                    Level.WARNING,
                    "lock servers " + used.address() + " and " + other.address()
                            + " are both active and share no locks,"
                            + " so a lock can have several holders; give them the same --store and --store-prefix, or"
                            + " this client the addresses of one log");
        }
        suspected = pair;
    }
}
