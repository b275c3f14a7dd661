package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Person;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.LockDescription;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade force-release}: ends a lease whose holder does not. */
@Command(
        name = "force-release",
        description = {
            "Ends a lease at once, on record with who and why. The holder may still be at work: it is told, and only a guard "
                    + "refuses what it does until then. Ask first, with palisade revoke."
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
final class ForceReleaseCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "NAME", description = "The lock.")
    String name = "";

    @Option(
            names = "--token",
            paramLabel = "N",
            description = "Of the lease to end, as describe shows it. Default: the holder's, if there is one only")
    @Nullable
    Long token;

    @Option(names = "--all", description = "End every lease of the lock.")
    boolean all;

    @Option(names = "--why", required = true, paramLabel = "TEXT", description = "For the holder, and on record.")
    String why = "";

    @Option(names = "--by", paramLabel = "TEXT", description = "Who does it. Default: user@host")
    String by = Person.userAtHost();

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        if (all && token != null) {
            throw asking.misuse("--token names one lease and --all every one; say which");
        }
        int released = asking.ask(this::end);
        if (asking.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("lock", name);
            json.addProperty("released", released);
            asking.print(json);
        } else {
            System.out.println(
                    released == 0
                            ? "nothing to end: no such lease of " + Plain.text(name) + " is held"
                            : "ended " + released + " lease" + (released == 1 ? "" : "s") + " of " + Plain.text(name));
        }
        return released == 0 ? ExitCodes.NO : ExitCodes.OK;
    }

    private int end(PalisadeClient client) {
        Long named = token;
        OptionalLong which = named == null ? OptionalLong.empty() : OptionalLong.of(named);
        if (!all && named == null) {
            LockDescription lock = client.describe(name);
            if (lock.holdersTotal() == 0) {
                return 0;
            }
            if (lock.holdersTotal() > 1) {
                throw asking.misuse(Plain.text(name) + " has " + lock.holdersTotal()
                        + " holders; name one with --token N, as palisade describe shows it, or say --all");
            }
            // By its token: a holder that comes meanwhile is not meant.
            which = OptionalLong.of(lock.holders().get(0).token().value());
        }
        return client.operations().forceRelease(name, which, by, why);
    }
}
