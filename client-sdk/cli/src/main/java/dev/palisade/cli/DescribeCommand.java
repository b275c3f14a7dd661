package dev.palisade.cli;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.DescribeReply;
import java.time.Clock;
import java.time.ZoneId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade describe}: holders and waiters of a lock. */
@Command(
        name = "describe",
        description = "Shows the holders of a lock, since when and with which token they hold it, and its waiters.",
        footer = {"", "Example:", "  palisade describe backup/db1"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class DescribeCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock.")
    String name = "";

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        String lock = server.lockName(name);
        DescribeReply reply = server.with((LockServers servers) -> servers.reach(lock));
        if (server.json()) {
            server.print(LockText.json(reply));
        } else {
            System.out.print(LockText.shown(reply, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }
}
