package dev.palisade.server.store.log;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockEvent;
import dev.palisade.server.core.LockState;
import dev.palisade.server.ownership.OwnershipMachine;
import dev.palisade.server.store.LockStore;
import dev.palisade.server.store.StoreFailure;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Lock servers over one log in memory, each of which takes a turn only when the test says so. */
final class SharedServers {
    static final long RECOVERY_MILLIS = 10_000;
    static final long STORE_TIMEOUT_MILLIS = 2_000;

    final AtomicLong logMillis = new AtomicLong(Asking.START);
    final AtomicLong nanos = new AtomicLong(5_000_000_000L);
    final MemoryLogServer log;
    private final AtomicInteger epochs = new AtomicInteger();

    private final boolean resumes;

    SharedServers() {
        this(false);
    }

    /** @param resumes whether servers keep their memory after a loss of the log */
    SharedServers(boolean resumes) {
        this.resumes = resumes;
        log = new MemoryLogServer(logMillis);
    }

    /** An offer that its client was notified of. */
    record Promised(LockName lock, Grant grant) {}

    /** One lock server. */
    final class Server implements LockStore.Listener {
        final MemoryStorage client;
        final LoggedStore store;
        final List<LockEvent> told = new ArrayList<>();
        final Deque<Promised> promised = new ArrayDeque<>();
        final List<StoreFailure> deposed = new ArrayList<>();
        int takeoversEnded;
        /** Takeovers after which clients that waited have a session at a server that does not serve. */
        int sessionsForNothing;

        Server(String address, boolean init) {
            client = new MemoryStorage(log);
            store = LoggedStore.share(
                    LoggedStoreConfig.DEFAULTS,
                    Limits.DEFAULTS,
                    client.log(address, init, RECOVERY_MILLIS, SharedLogs.ANY_KEYS),
                    new OwnershipMachine.Settings(MemoryLogServer.CLAIM_MILLIS, STORE_TIMEOUT_MILLIS, resumes),
                    nanos::get,
                    () -> epochs.incrementAndGet() * 7919,
                    why -> {
                        throw new AssertionError("fatal: " + why);
                    });
            store.listenInTurns(this);
        }

        @Override
        public void changed(LockState next, List<LockEvent> events, long decidedAtMillis) {
            told.addAll(events);
            for (LockEvent event : events) {
                if (event instanceof LockEvent.Offered offered) {
                    next.promised(offered.request()).ifPresent(grant -> promised.add(new Promised(next.name(), grant)));
                }
            }
        }

        @Override
        public void told() {}

        @Override
        public void deposed(StoreFailure why) {
            deposed.add(why);
        }

        @Override
        public void takeoverEnded() {
            takeoversEnded++;
            if (store.standby().isEmpty() && !isActive()) {
                sessionsForNothing++;
            }
        }

        /** Whether clients that come now are to wait. */
        boolean takesOver() {
            return store.standby().filter(StoreFailure::isTakeover).isPresent();
        }

        boolean isActive() {
            return store.status().up();
        }

        /** Sends a command without a turn. */
        CompletableFuture<Answer> send(Command command) {
            return store.execute(command).toCompletableFuture();
        }

        /** Sends a command and takes a turn. */
        CompletableFuture<Answer> ask(Command command) {
            CompletableFuture<Answer> reply = send(command);
            store.takeTurn();
            return reply;
        }

        Answer answer(Command command) {
            return ask(command).getNow(null);
        }

        /** Takes turns while time passes. */
        void live(long millis) {
            for (long passed = 0; passed < millis; passed += 50) {
                pass(50);
                store.takeTurn();
            }
        }
    }

    Server server(String address) {
        return new Server(address, true);
    }

    /** One that takes an empty log for one that lost its data. */
    Server serverWithoutInit(String address) {
        return new Server(address, false);
    }

    void pass(long millis) {
        nanos.addAndGet(millis * 1_000_000);
        logMillis.addAndGet(millis);
    }

    /** How a reply failed; empty if it has not, or not yet. */
    static Optional<StoreFailure> failure(CompletableFuture<Answer> reply) {
        if (!reply.isCompletedExceptionally()) {
            return Optional.empty();
        }
        @Nullable Throwable failure = reply.handle((answer, thrown) -> thrown).join();
        return Optional.of((StoreFailure)
                (failure instanceof CompletionException wrapped && wrapped.getCause() != null
                        ? wrapped.getCause()
                        : failure));
    }
}
