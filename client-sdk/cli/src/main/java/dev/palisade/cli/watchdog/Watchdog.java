package dev.palisade.cli.watchdog;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The watchdog process: waits for the start message, then supervises the command until it has ended. One thread handles
 * all events. Signals that a terminal or a service manager sends to all processes do not end it: only {@code palisade
 * run} controls it, by messages and by its own end.
 */
public final class Watchdog {
    private static final long PERIOD_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long PERIOD_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);
    private static final long GROUP_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int PERIODS_PER_TTL = 20;

    private final MessageChannel channel;
    private final BlockingQueue<Event> events = new LinkedBlockingQueue<>();
    private Message.@Nullable Start start;
    private @Nullable WatchdogState state;
    private WatchdogState.ClockReading requestedAt = now();
    private boolean replied = true;

    /** An event for the main thread. */
    private interface Event {
        void handle() throws IOException;
    }

    private Watchdog(MessageChannel channel) {
        this.channel = channel;
    }

    /** @param args the path of the socket */
    public static void main(String[] args) throws IOException, InterruptedException {
        for (String signal : new String[] {"INT", "TERM", "HUP", "TSTP", "TTIN", "TTOU"}) {
            Signals.onSignal(signal, name -> {});
        }
        Path socket = Path.of(args[0]);
        try (SocketChannel connection = connect(socket)) {
            new Watchdog(new MessageChannel(connection)).run();
        } catch (IOException e) {
            // There is no process left to notify, and no command was started: run() handles later failures.
            System.exit(1);
        }
        System.exit(0);
    }

    /** Connects and deletes the socket file, also if the process that created it was killed meanwhile. */
    private static SocketChannel connect(Path socket) throws IOException {
        try {
            return SocketChannel.open(UnixDomainSocketAddress.of(socket));
        } finally {
            deleteSocket(socket);
        }
    }

    private static void deleteSocket(Path socket) {
        try {
            Files.deleteIfExists(socket);
            Files.deleteIfExists(Objects.requireNonNull(socket.getParent()));
        } catch (IOException e) {
            // Only an empty file or directory remains.
            return;
        }
    }

    private void run() throws InterruptedException, IOException {
        Thread reader = new Thread(this::read, "channel");
        reader.setDaemon(true);
        reader.start();
        while (state == null || !state.finished()) {
            Event next = events.poll(pause(), TimeUnit.NANOSECONDS);
            if (next != null) {
                next.handle();
            }
            if (state != null) {
                state.tick(now());
                requestValidityIfDue();
            }
        }
        send(state.ended());
    }

    private long pause() {
        if (state == null) {
            return PERIOD_NANOS_MAX;
        }
        long next = Math.min(state.nextNanos(now()), period());
        return state.awaitsGroup() ? Math.min(next, GROUP_POLL_NANOS) : next;
    }

    private long period() {
        long ttl = start == null ? 0 : start.ttl().toNanos();
        return Math.max(PERIOD_NANOS_MIN, Math.min(PERIOD_NANOS_MAX, ttl / PERIODS_PER_TTL));
    }

    private void read() {
        try {
            while (true) {
                Message message = channel.receive();
                events.add(() -> onMessage(message));
            }
        } catch (IOException e) {
            events.add(this::onParentExit);
        }
    }

    private void onMessage(Message message) throws IOException {
        if (message instanceof Message.Start first) {
            start = first;
            requestValidity();
        } else if (message instanceof Message.ValidityReply reply) {
            replied = true;
            onValidity(reply.remaining());
        } else if (state != null && message instanceof Message.Signal signal) {
            state.signal(signal.name(), now());
        } else if (state != null && message instanceof Message.Lost) {
            state.lost(now());
        } else if (state == null && (message instanceof Message.Lost || message instanceof Message.Signal)) {
            // The command was not started yet, and is not started now.
            channel.send(new Message.Ended(0, message instanceof Message.Lost, true));
            throw new IOException("not wanted any more");
        }
    }

    private void onValidity(Duration remaining) throws IOException {
        if (state != null) {
            state.validity(requestedAt, remaining);
        } else if (start != null) {
            launch(start, remaining);
        }
    }

    private void launch(Message.Start message, Duration remaining) throws IOException {
        if (remaining.isZero()) {
            channel.send(new Message.Ended(0, true, true));
            throw new IOException("the lease is over");
        }
        CommandLauncher.Running running;
        try {
            running = CommandLauncher.start(message.command(), message.environment());
        } catch (IOException e) {
            channel.send(new Message.Failed(String.valueOf(e.getMessage())));
            throw e;
        }
        WatchdogState started = new WatchdogState(message.termination(), control(running), requestedAt, remaining);
        state = started;
        send(new Message.Started(running.pid()));
        var unused = running.process()
                .onExit()
                .thenAccept(ended -> events.add(() -> started.firstProcessEnded(ended.exitValue(), now())));
    }

    private static WatchdogState.ProcessControl control(CommandLauncher.Running running) {
        ProcessGroup group = new ProcessGroup(running.pid());
        return new WatchdogState.ProcessControl() {
            @Override
            public boolean alive() {
                return group.alive();
            }

            @Override
            public void signal(String name) {
                group.signal(name);
            }

            @Override
            public void kill() {
                group.kill();
            }
        };
    }

    private void requestValidityIfDue() {
        if (replied && now().nanos() - requestedAt.nanos() >= period()) {
            requestValidity();
        }
    }

    /** At most one request is pending, so a peer that does not reply cannot block this process. */
    private void requestValidity() {
        replied = false;
        requestedAt = now();
        send(new Message.ValidityRequest());
    }

    /** Send failures are ignored: the reader reports the end of the peer. */
    private void send(Message message) {
        try {
            channel.send(message);
        } catch (IOException e) {
            replied = false;
        }
    }

    /** Handles the end of the process that holds the lock: the server frees the lock before the lease ends. */
    private void onParentExit() throws IOException {
        if (state == null) {
            throw new IOException("nothing was started");
        }
        state.lost(now());
    }

    private static WatchdogState.ClockReading now() {
        return new WatchdogState.ClockReading(System.nanoTime(), System.currentTimeMillis());
    }
}
