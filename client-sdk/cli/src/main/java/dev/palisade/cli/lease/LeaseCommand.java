package dev.palisade.cli.lease;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.Reason;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.proto.v1.LocksGrpc.LocksBlockingStub;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Command on a lease that {@code palisade acquire} has printed. */
abstract class LeaseCommand implements Callable<Integer> {
    private static final String VARIABLE = "PALISADE_LEASE";

    /** Reasons of rejections after the end of the lease. */
    private static final Set<String> ENDED = Set.of("NOT_HOLDER", "LEASE_EXPIRED", "TOKEN_MISMATCH", "SESSION_UNKNOWN");

    @Parameters(index = "0", arity = "0..1", paramLabel = "LEASE", description = "Default: $PALISADE_LEASE")
    @Nullable
    String lease;

    @Mixin
    ServerCall server = new ServerCall();

    private final String done;

    /** @param done field of the outcome in JSON */
    LeaseCommand(String done) {
        this.done = done;
    }

    /** Sends the command, prints its success and returns the exit code. */
    abstract int run(LockServers servers, LeaseCredential credential) throws Failed;

    /** Sends a call of the lease's holder. A lease that the store has lost is reclaimed by its sequencer first. */
    static <T> T call(LockServers servers, LeaseCredential credential, Function<LocksBlockingStub, T> call)
            throws Failed {
        try {
            return servers.call(call);
        } catch (Failed e) {
            if (!e.reason().equals(Reason.NOT_HOLDER.name())) {
                throw e;
            }
            var unused = servers.call(stub -> stub.resume(credential.resumption()));
            return servers.call(call);
        }
    }

    @Override
    public final Integer call() throws Failed {
        LeaseCredential credential = credential();
        try {
            return server.with(servers -> run(servers, credential));
        } catch (Failed e) {
            if (!ENDED.contains(e.reason())) {
                throw e;
            }
            if (server.json()) {
                JsonObject json = json(credential, false);
                json.addProperty("reason", e.reason());
                server.print(json);
            } else {
                System.err.println(
                        "the lease of " + TerminalText.text(credential.lock()) + " has ended (" + e.message() + ")");
            }
            return ExitCodes.NO;
        }
    }

    final JsonObject json(LeaseCredential credential, boolean isDone) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", credential.lock());
        json.addProperty("token", credential.token());
        json.addProperty(done, isDone);
        return json;
    }

    private LeaseCredential credential() {
        String text = lease == null ? System.getenv(VARIABLE) : lease;
        if (text == null || text.isEmpty()) {
            throw server.usageError("no LEASE, and $" + VARIABLE + " is not set; palisade acquire prints one");
        }
        return LeaseCredential.ofText(text)
                .orElseThrow(() -> server.usageError(
                        "LEASE is not a credential of a lease; use PALISADE_LEASE as palisade acquire prints it"));
    }
}
