package dev.palisade.cli;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.FencingToken;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.ForceReleaseRequest;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code palisade force-release}: ends a lease without its holder. */
@Command(
        name = "force-release",
        description = {
            "Ends a lease at once; the history records the operator and the reason. The holder is notified but may still be working: only a "
                    + "guard rejects its late writes. Try palisade request-release first."
        },
        footer = {
            "",
            "Examples:",
            "  palisade force-release backup/db1 --why \"host is gone\"",
            "  palisade force-release jobs --token 373282321453057 --why \"stuck since Monday\"",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class ForceReleaseCommand extends OperatorCommand {
    @Option(
            names = "--token",
            paramLabel = "N",
            description =
                    "Token of the lease to end, as describe shows it. Default: the holder's, if there is only one")
    @Nullable
    Long token;

    @Option(names = "--all", description = "End every lease of the lock, and its minimum hold time.")
    boolean all;

    /** Of a lock without a holder, as describe reported it. */
    private long minimumHoldMillis;

    @Override
    public Integer call() throws Failed {
        if (all && token != null) {
            throw server.usageError("--token ends one lease and --all every lease; use one of them");
        }
        if (token != null && token < 1) {
            throw server.usageError("--token is " + token + "; use a token as palisade describe shows it");
        }
        ForceReleaseRequest.Builder request = ForceReleaseRequest.newBuilder()
                .setLock(server.lockName(name))
                .setBy(by())
                .setWhy(why());
        int released = server.with(servers -> end(servers, request));
        return print("released", released, released == 0 ? nothing() : ended(released));
    }

    private String ended(int released) {
        return minimumHoldMillis > 0
                ? "ended the minimum hold time of " + TerminalText.text(name)
                : "ended " + counted(released, "lease") + " of " + TerminalText.text(name);
    }

    private String nothing() {
        if (minimumHoldMillis > 0) {
            return TerminalText.text(name) + " is not held; it is in its minimum hold time for another "
                    + TimeFormat.durationMillis(minimumHoldMillis) + ", which --all ends";
        }
        return TerminalText.text(name)
                + (token == null ? " is not held" : " is not held with token " + token)
                + "; nothing to release";
    }

    private int end(LockServers servers, ForceReleaseRequest.Builder request) throws Failed {
        requireRight(servers, request.build());
        DescribeReply lock = servers.reach(request.getLock());
        minimumHoldMillis = lock.getHoldersTotal() == 0 ? lock.getMinimumHoldRemainingMillis() : 0;
        Long named = token;
        if (named != null) {
            request.setToken(named);
        } else if (!all) {
            if (lock.getHoldersTotal() == 0) {
                return 0;
            }
            if (lock.getHoldersTotal() > 1 || lock.getHoldersCount() != 1) {
                throw server.usageError(TerminalText.text(name) + " has " + lock.getHoldersTotal()
                        + " holders; choose one with --token N, as palisade describe shows it, or use --all");
            }
            // By its token: a holder that comes meanwhile is not meant. On the wire, 0 would mean every holder.
            request.setToken(Math.max(1, lock.getHolders(0).getToken()));
        }
        try {
            return servers.callOnce(Duration.ZERO, stub -> stub.forceRelease(request.build()))
                    .getReleased();
        } catch (Failed e) {
            throw e.exitCode() == ExitCodes.NO_ANSWER
                    ? new Failed(
                            e.exitCode(),
                            e.reason(),
                            e.message() + "; the lease may have been released: see palisade history")
                    : e;
        }
    }

    /**
     * A caller without the right is refused before it learns of holders: no lease has this token, so nothing is ended.
     */
    private static void requireRight(LockServers servers, ForceReleaseRequest request) throws Failed {
        ForceReleaseRequest none =
                request.toBuilder().setToken(FencingToken.MAX).build();
        var unused = servers.call(stub -> stub.forceRelease(none));
    }
}
