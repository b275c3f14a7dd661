package dev.palisade.incidents;

import java.util.List;
import java.util.function.Consumer;

/**
 * Incidents in which a lock server is stopped (SIGSTOP) for longer than its claim, and continued. Issuers inside the
 * application process are not stopped.
 */
final class PauseFaults {
    private PauseFaults() {}

    /** The standby takes over, and the paused server continues with its old state. */
    static void paused(FaultContext<?> context) {
        AppProcess app = either(context);
        pause(context, app);
        context.tokens(context.between(5, 40));
        resume(context, app);
    }

    /** The store loses all data meanwhile, including that of the new active server. */
    static <N extends Node> void pausedAndAllLost(FaultContext<N> context, Consumer<FaultContext<N>> loss) {
        AppProcess app = either(context);
        pause(context, app);
        context.tokens(context.between(5, 40));
        loss.accept(context);
        if (context.dice().nextBoolean()) {
            context.tokens(context.between(1, 20));
        }
        resume(context, app);
    }

    /** The second server stops right after its possible takeover. */
    static void pausedInTurn(FaultContext<?> context) {
        for (AppProcess app : order(context)) {
            pause(context, app);
            context.tokens(context.between(1, 5));
            resume(context, app);
        }
    }

    private static List<AppProcess> order(FaultContext<?> context) {
        return context.dice().nextBoolean()
                ? List.of(context.near(), context.far())
                : List.of(context.far(), context.near());
    }

    private static AppProcess either(FaultContext<?> context) {
        return context.dice().nextBoolean() ? context.near() : context.far();
    }

    private static void pause(FaultContext<?> context, AppProcess app) {
        context.note("the lock server of side " + app.name() + " is stopped");
        app.issuer().pause();
    }

    private static void resume(FaultContext<?> context, AppProcess app) {
        app.issuer().resume();
        context.note("the lock server of side " + app.name() + " goes on");
    }
}
