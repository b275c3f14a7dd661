package dev.palisade.incidents;

import dev.palisade.faults.Link;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Incidents in the network between the applications and a healthy primary. */
final class NetworkFaults {
    private NetworkFaults() {}

    static void publishedIsLost(FaultContext<RedisNode> context) {
        for (int i = 0; i < 5; i++) {
            context.note(
                    context.primary().process().ask("CLIENT", "KILL", "TYPE", "pubsub") + " subscriptions are cut");
            context.tokens(5);
        }
    }

    static void frozen(FaultContext<?> context) {
        AppProcess app = context.dice().nextBoolean() ? context.near() : context.far();
        Link link = app.link(context.primary());
        context.note("the link of side " + app.name() + " stands still");
        if (context.dice().nextBoolean()) {
            link.freeze(Link.Way.ONWARD, Link.Way.BACK);
        } else {
            link.freeze(Link.Way.BACK);
        }
        sleep(LettuceConnection.TIMEOUT.plusMillis(context.between(100, 400)));
        link.thaw();
    }

    /** Requests are executed, and their replies are lost. */
    static void repliesLost(FaultContext<?> context) {
        for (AppProcess app : context.apps()) {
            for (int i = 0; i < 3; i++) {
                Link link = app.link(context.primary());
                context.note("replies to side " + app.name() + " are lost");
                link.freeze(Link.Way.BACK);
                sleep(Duration.ofMillis(context.between(10, 40)));
                link.cut();
                link.thaw();
                context.tokens(5);
            }
        }
    }

    static void sleep(Duration time) {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }
}
