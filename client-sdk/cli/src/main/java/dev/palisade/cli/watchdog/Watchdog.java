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
 * The watchdog's process: waits for the word to start, then stands by the command until it has ended. Everything happens on one
 * thread; others only bring it news. Signals that a terminal or a service manager sends to all processes do not end it: what
 * is to be done is said by {@code palisade run}, and its end is a word too.
 */
public final class Watchdog {
    private static final long PERIOD_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long PERIOD_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);
    private static final long LINGER_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final int PERIODS_PER_TTL = 20;

    private final Link link;
    private final BlockingQueue<News> news = new LinkedBlockingQueue<>();
    private Message.@Nullable Start start;
    private @Nullable Watch watch;
    private Watch.Moment asked = now();
    private boolean answered = true;

    /** Something that happened, to be looked into on the watchdog's thread. */
    private interface News {
        void tell() throws IOException;
    }

    private Watchdog(Link link) {
        this.link = link;
    }

    /** @param args the path of the socket to call */
    public static void main(String[] args) throws IOException, InterruptedException {
        for (String signal : new String[] {"INT", "TERM", "HUP", "TSTP", "TTIN", "TTOU"}) {
            Signals.hear(signal, name -> {});
        }
        Path socket = Path.of(args[0]);
        try (SocketChannel channel = call(socket)) {
            new Watchdog(new Link(channel)).run();
        } catch (IOException e) {
            // There is no process left to notify, and no command was started: run() handles later failures.
            System.exit(1);
        }
        System.exit(0);
    }

    /** Leaves nothing behind on the disk, also if the process that made the socket was killed meanwhile. */
    private static SocketChannel call(Path socket) throws IOException {
        try {
            return SocketChannel.open(UnixDomainSocketAddress.of(socket));
        } finally {
            forget(socket);
        }
    }

    private static void forget(Path socket) {
        try {
            Files.deleteIfExists(socket);
            Files.deleteIfExists(Objects.requireNonNull(socket.getParent()));
        } catch (IOException e) {
            // What stays behind is empty, and no reason not to watch.
            return;
        }
    }

    private void run() throws InterruptedException, IOException {
        Thread reader = new Thread(this::read, "link");
        reader.setDaemon(true);
        reader.start();
        while (watch == null || !watch.over()) {
            News next = news.poll(pause(), TimeUnit.NANOSECONDS);
            if (next != null) {
                next.tell();
            }
            if (watch != null) {
                watch.tick(now());
                askAgain();
            }
        }
        say(watch.ended());
    }

    private long pause() {
        if (watch == null) {
            return PERIOD_NANOS_MAX;
        }
        long next = Math.min(watch.nextNanos(now()), period());
        return watch.lingers() ? Math.min(next, LINGER_NANOS) : next;
    }

    private long period() {
        long ttl = start == null ? 0 : start.ttl().toNanos();
        return Math.max(PERIOD_NANOS_MIN, Math.min(PERIOD_NANOS_MAX, ttl / PERIODS_PER_TTL));
    }

    private void read() {
        try {
            while (true) {
                Message message = link.receive();
                news.add(() -> heard(message));
            }
        } catch (IOException e) {
            news.add(this::alone);
        }
    }

    private void heard(Message message) throws IOException {
        if (message instanceof Message.Start first) {
            start = first;
            ask();
        } else if (message instanceof Message.Holds holds) {
            answered = true;
            holds(holds.remaining());
        } else if (watch != null && message instanceof Message.Signal signal) {
            watch.signal(signal.name(), now());
        } else if (watch != null && message instanceof Message.Lost) {
            watch.lost(now());
        } else if (watch == null && (message instanceof Message.Lost || message instanceof Message.Signal)) {
            // Before the command was started: it never is.
            link.send(new Message.Ended(0, message instanceof Message.Lost, true));
            throw new IOException("not wanted any more");
        }
    }

    private void holds(Duration remaining) throws IOException {
        if (watch != null) {
            watch.holds(asked, remaining);
        } else if (start != null) {
            launch(start, remaining);
        }
    }

    private void launch(Message.Start what, Duration remaining) throws IOException {
        if (remaining.isZero()) {
            link.send(new Message.Ended(0, true, true));
            throw new IOException("the lease is over");
        }
        OwnGroup.Running running;
        try {
            running = OwnGroup.start(what.command(), what.environment());
        } catch (IOException e) {
            link.send(new Message.Failed(String.valueOf(e.getMessage())));
            throw e;
        }
        Watch begun = new Watch(what.ending(), hands(running), asked, remaining);
        watch = begun;
        say(new Message.Started(running.pid()));
        var unused = running.process()
                .onExit()
                .thenAccept(ended -> news.add(() -> begun.firstEnded(ended.exitValue(), now())));
    }

    private static Watch.Hands hands(OwnGroup.Running running) {
        Group group = new Group(running.pid());
        return new Watch.Hands() {
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

    private void askAgain() {
        if (answered && now().nanos() - asked.nanos() >= period()) {
            ask();
        }
    }

    /** One question at a time, so that a process that does not answer cannot make this one wait. */
    private void ask() {
        answered = false;
        asked = now();
        say(new Message.Ask());
    }

    /** A peer that cannot receive it is gone; the reader of the link reports its end. */
    private void say(Message message) {
        try {
            link.send(message);
        } catch (IOException e) {
            answered = false;
        }
    }

    /** The process that holds the lock is gone: the server will free it before the lease's end. */
    private void alone() throws IOException {
        if (watch == null) {
            throw new IOException("nothing was started");
        }
        watch.lost(now());
    }

    private static Watch.Moment now() {
        return new Watch.Moment(System.nanoTime(), System.currentTimeMillis());
    }
}
