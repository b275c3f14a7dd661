package dev.palisade.cli;

import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.client.LockDescription;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.time.Clock;
import java.time.ZoneId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade describe}: who holds a lock, and who waits for it. */
@Command(
        name = "describe",
        description = "Tells who holds a lock, since when, with which token, and who waits for it.",
        footer = {"", "Example:", "  palisade describe backup/db1"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class DescribeCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "NAME", description = "The lock.")
    String name = "";

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        LockDescription lock = asking.ask(client -> client.describe(name));
        if (asking.json()) {
            asking.print(LockText.json(lock));
        } else {
            System.out.print(LockText.shown(lock, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }
}
