package dev.palisade.cli.lease;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.CallerName;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.Reason;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.AcquireRequest;
import dev.palisade.proto.v1.Busy;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.Mode;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade acquire}: a lease for a script, which outlives this process by its ttl. */
@Command(
        name = "acquire",
        description = {
            "Acquires a lock and exits. The lease is not renewed: it ends after --ttl, unless palisade renew extends it or "
                    + "palisade release ends it. Prefer palisade run, which renews the lease and terminates its command when "
                    + "the lock is lost.",
            "",
            "Prints shell assignments of PALISADE_LOCK, PALISADE_TOKEN, PALISADE_SEQUENCER and PALISADE_LEASE. PALISADE_LEASE "
                    + "is the credential for renew and release: keep it secret.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 acquired, 1 the lock is taken or was not granted within --wait.",
            "",
            "Example:",
            "  lease=$(palisade acquire backup/db1 --ttl 5m --wait 10s) || exit",
            "  eval \"$lease\"",
            "  ./backup.sh --token \"$PALISADE_TOKEN\"",
            "  palisade release"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
public final class AcquireCommand implements Callable<Integer> {
    private static final Duration WAIT_MAX = Duration.ofHours(24);
    private static final Duration TTL_MIN = Duration.ofSeconds(1);
    private static final Duration TTL_MAX = Duration.ofMinutes(5);
    private static final Duration LOCK_DELAY_MAX = Duration.ofSeconds(60);
    private static final Duration AT_LEAST_FOR_MAX = Duration.ofHours(1);

    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock: 1 to 256 bytes.")
    String name = "";

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            defaultValue = "24h",
            converter = DurationOption.class,
            description = "How long to wait for the lock; 0s tries once. Default: ${DEFAULT-VALUE}")
    Duration wait = WAIT_MAX;

    @Option(
            names = "--ttl",
            paramLabel = "TIME",
            defaultValue = "1m",
            converter = DurationOption.class,
            description = "Lease duration: how long the lock stays held without a renewal. Default: ${DEFAULT-VALUE}")
    Duration ttl = Duration.ofMinutes(1);

    @Option(
            names = "--lock-delay",
            paramLabel = "TIME",
            defaultValue = "0s",
            converter = DurationOption.class,
            description = "How long the lock stays unavailable after the lease expires. Default: ${DEFAULT-VALUE}")
    Duration lockDelay = Duration.ZERO;

    @Option(
            names = "--at-least-for",
            paramLabel = "TIME",
            defaultValue = "0s",
            converter = DurationOption.class,
            description =
                    "Minimum hold time: how long after the grant the lock stays unavailable to others, even if it is "
                            + "released earlier. Default: ${DEFAULT-VALUE}")
    Duration atLeastFor = Duration.ZERO;

    @Option(names = "--shared", description = "Share the lock with other --shared holders.")
    boolean shared;

    @Option(
            names = "--purpose",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Free-text reason shown by describe and list.")
    String purpose = "";

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        server.within("--wait", wait, Duration.ZERO, WAIT_MAX);
        server.within("--ttl", ttl, TTL_MIN, TTL_MAX);
        server.within("--lock-delay", lockDelay, Duration.ZERO, LOCK_DELAY_MAX);
        server.within("--at-least-for", atLeastFor, Duration.ZERO, AT_LEAST_FOR_MAX);
        if (shared && !atLeastFor.isZero()) {
            throw server.usageError("--at-least-for needs a lock that is not --shared; use one of them");
        }
        AcquireRequest request = AcquireRequest.newBuilder()
                .setLock(server.lockName(name))
                .setMode(shared ? Mode.SHARED : Mode.EXCLUSIVE)
                .setTtlMillis(ttl.toMillis())
                .setWaitMillis(wait.toMillis())
                .setLockDelayMillis(lockDelay.toMillis())
                .setLockAtLeastForMillis(atLeastFor.toMillis())
                .setRequestId(LeaseCredential.REQUEST_ID)
                .setPurpose(server.text("purpose", purpose, 0))
                .setOwner(CallerName.process())
                .build();
        return server.with(servers -> {
            UnaryAcquire acquire = new UnaryAcquire(servers, request);
            UnaryAcquire.Outcome outcome = acquire.acquire();
            int code = print(outcome);
            if (outcome.reply().hasGranted() && System.out.checkError()) {
                // Without its credential no process can renew or release the lease.
                throw acquire.withdrawn(new Failed(
                        ExitCodes.NOT_WRITTEN, "", "the output could not be written, so the lock is not kept"));
            }
            return code;
        });
    }

    private int print(UnaryAcquire.Outcome outcome) throws Failed {
        AcquireReply reply = outcome.reply();
        return switch (reply.getOutcomeCase()) {
            case GRANTED -> granted(reply.getGranted(), outcome);
            case BUSY -> busy(reply.getBusy());
            case TIMED_OUT -> timedOut(reply.getTimedOut().getRecoveringMillis());
            case QUEUED, OUTCOME_NOT_SET -> throw new IllegalStateException("not an outcome: " + reply);
        };
    }

    private int granted(Granted granted, UnaryAcquire.Outcome outcome) {
        LeaseCredential credential = outcome.credential();
        String sequencer =
                SignedSequencer.of(granted.getSequencer().toByteArray()).toText();
        if (server.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("lock", name);
            json.addProperty("acquired", true);
            json.addProperty("token", granted.getToken());
            json.addProperty("mode", granted.getMode().name());
            json.addProperty("sequencer", sequencer);
            json.addProperty("lease", credential.toText());
            json.addProperty("ttl_millis", granted.getTtlMillis());
            json.addProperty("remaining_millis", outcome.remainingMillis());
            server.print(json);
        } else {
            System.out.println("PALISADE_LOCK=" + quoted(name));
            System.out.println("PALISADE_TOKEN=" + granted.getToken());
            System.out.println("PALISADE_SEQUENCER=" + sequencer);
            System.out.println("PALISADE_LEASE=" + credential.toText());
            System.out.println("export PALISADE_LOCK PALISADE_TOKEN PALISADE_SEQUENCER PALISADE_LEASE");
        }
        return ExitCodes.OK;
    }

    private int busy(Busy busy) {
        if (server.json()) {
            JsonObject json = notAcquired();
            if (busy.hasHolder()) {
                json.addProperty("owner", busy.getHolder().getOwner());
                json.addProperty("purpose", busy.getHolder().getPurpose());
                json.addProperty("holder_token", busy.getHolder().getToken());
            }
            json.addProperty("remaining_millis", busy.getRemainingMillis());
            json.addProperty("minimum_hold_millis", busy.getMinimumHoldRemainingMillis());
            json.addProperty("waiters_total", busy.getWaiters());
            server.print(json);
        } else if (busy.hasHolder()) {
            String purpose = busy.getHolder().getPurpose();
            System.err.println(
                    TerminalText.text(name + " is held by " + busy.getHolder().getOwner()
                            + (purpose.isEmpty() ? "" : " (" + purpose + ")") + ", token "
                            + busy.getHolder().getToken()));
        } else if (busy.getMinimumHoldRemainingMillis() > 0) {
            System.err.println(
                    TerminalText.text(name) + " is not available yet: in its minimum hold time or in lock-delay, for "
                            + TimeFormat.durationMillis(busy.getRemainingMillis()));
        } else {
            System.err.println(
                    TerminalText.text(name) + " is not available yet: in lock-delay or offered to a waiter, for "
                            + TimeFormat.durationMillis(busy.getRemainingMillis()));
        }
        return ExitCodes.NO;
    }

    /** While the store recovers, a wait that ends does not mean that another holder has the lock. */
    private int timedOut(long recoveringMillis) throws Failed {
        if (recoveringMillis > 0) {
            throw new Failed(
                    ExitCodes.NO_ANSWER,
                    Reason.RECOVERING.name(),
                    "no lock is granted for another " + TimeFormat.durationMillis(recoveringMillis)
                            + ", because the store lost data; wait longer, or try again then");
        }
        if (server.json()) {
            server.print(notAcquired());
        } else {
            System.err.println(TerminalText.text(name) + " was not granted within " + DurationOption.text(wait)
                    + "; see palisade describe");
        }
        return ExitCodes.NO;
    }

    private JsonObject notAcquired() {
        JsonObject json = new JsonObject();
        json.addProperty("lock", name);
        json.addProperty("acquired", false);
        return json;
    }

    /** For a POSIX shell. */
    static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }
}
