package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Person;
import dev.palisade.cli.term.Plain;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade revoke}: asks for a lock. */
@Command(
        name = "revoke",
        description = {
            "Asks every holder of a lock to give it up. Each decides for itself; palisade run ends its command unless told "
                    + "otherwise. Who does not react can be ended by palisade force-release."
        },
        footer = {"", "Example:", "  palisade revoke backup/db1 --why \"maintenance at noon\""},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class RevokeCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "NAME", description = "The lock.")
    String name = "";

    @Option(names = "--why", required = true, paramLabel = "TEXT", description = "For the holder, and on record.")
    String why = "";

    @Option(names = "--by", paramLabel = "TEXT", description = "Who asks. Default: user@host")
    String by = Person.userAtHost();

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        int asked = asking.ask(client -> client.operations().revoke(name, by, why));
        if (asking.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("lock", name);
            json.addProperty("holders_asked", asked);
            asking.print(json);
        } else {
            System.out.println(
                    asked == 0
                            ? "nobody holds " + Plain.text(name)
                            : "asked " + asked + " holder" + (asked == 1 ? "" : "s"));
        }
        return asked == 0 ? ExitCodes.NO : ExitCodes.OK;
    }
}
