package dev.palisade.cli;

import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.client.StoreDescription;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.time.Clock;
import java.time.ZoneId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code palisade store}: how the lock server's store does. */
@Command(
        name = "store",
        description =
                "Tells where locks are kept, whether they can be decided now, and since when and why tokens count.",
        footer = {"", "Exit codes: 0 the store is up, 1 it is not.", "", "Example:", "  palisade store --json | jq .up"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class StoreCommand implements Callable<Integer> {
    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        StoreDescription store = asking.ask(client -> client.operations().store());
        if (asking.json()) {
            asking.print(StoreText.json(store));
        } else {
            System.out.print(StoreText.shown(store, Clock.system(ZoneId.systemDefault())));
        }
        return store.up() ? ExitCodes.OK : ExitCodes.NO;
    }
}
