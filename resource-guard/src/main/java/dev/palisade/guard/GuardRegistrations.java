package dev.palisade.guard;

import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Registrations of one guard, one for each name of what it protects. Safe for use by many threads. */
final class GuardRegistrations {
    private static final System.Logger LOG = System.getLogger(Guard.class.getName());

    private final @Nullable LockService service;
    private final boolean observes;
    private final Map<String, Long> kept;
    private final GuardContext context;
    private final ResourceGates gates;
    private final Map<String, GuardRegistration> byName = new LinkedHashMap<>();
    private CompletableFuture<Void> answered = CompletableFuture.completedFuture(null);
    private boolean warned;
    private boolean suspended;
    private boolean ended;

    /** @param kept by name, the token that is kept with the marks */
    GuardRegistrations(
            @Nullable LockService service,
            boolean observes,
            Map<String, Long> kept,
            GuardContext context,
            ResourceGates gates) {
        this.kept = Map.copyOf(kept);
        this.service = service;
        this.observes = observes;
        this.context = context;
        this.gates = gates;
    }

    /** Registers the name, once. */
    synchronized void add(String name) {
        if (service == null || ended || byName.containsKey(name)) {
            return;
        }
        GuardRegistration registration =
                new GuardRegistration(name, process(), observes, kept.get(name), service, context, gates);
        byName.put(name, registration);
        answered = CompletableFuture.allOf(answered, registration.answered().toCompletableFuture());
        registration.start();
        if (suspended) {
            registration.suspend();
        }
    }

    /** See {@link GuardRegistration#suspend}. */
    synchronized void suspend() {
        suspended = true;
        byName.values().forEach(GuardRegistration::suspend);
    }

    /** See {@link GuardRegistration#resume}. */
    synchronized void resume() {
        suspended = false;
        byName.values().forEach(GuardRegistration::resume);
    }

    /** Completes when the lock service has answered about every name. Warns, once, when there is nothing to ask. */
    synchronized CompletionStage<Void> answered() {
        if (byName.isEmpty() && !warned) {
            warned = true;
            LOG.log(
                    Level.WARNING,
                    "this guard is not registered, so a second one with marks of its own would not be noticed, and would"
                            + " let late writes through: "
                            + (service == null
                                    ? "give it a lock service (Guard.Builder.lockService) and a name"
                                    : "name what it protects")
                            + " (Guard.Builder.protecting)");
        }
        return answered;
    }

    /** See {@link GuardRegistration#end}. */
    CompletionStage<Void> end(boolean release) {
        List<GuardRegistration> all;
        synchronized (this) {
            ended = true;
            all = List.copyOf(byName.values());
        }
        return CompletableFuture.allOf(all.stream()
                .map(registration -> registration.end(release).toCompletableFuture())
                .toArray(CompletableFuture[]::new));
    }

    /** Names this guard to people: what it protects, if that is known, and its process. */
    synchronized String shown() {
        return byName.isEmpty() ? process() : String.join(", ", byName.keySet()) + " at " + process();
    }

    /** Names this process to people, as host and process id. */
    static String process() {
        String host = System.getenv("HOSTNAME");
        try {
            host = host == null ? InetAddress.getLocalHost().getHostName() : host;
        } catch (UnknownHostException e) {
            host = "unknown host";
        }
        return host.substring(0, Math.min(200, host.length())) + " pid "
                + ProcessHandle.current().pid();
    }
}
