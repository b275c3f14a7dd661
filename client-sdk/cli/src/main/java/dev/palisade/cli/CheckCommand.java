package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade check}: is a lease alive? */
@Command(
        name = "check",
        description = {
            "Tells whether a sequencer names a lease that is alive now: exit code 0, else 1. No fence: it may end the next "
                    + "moment."
        },
        footer = {"", "Example, in a command of palisade run:", "  palisade check && ./next-step.sh"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class CheckCommand implements Callable<Integer> {
    static final String VARIABLE = "PALISADE_SEQUENCER";

    @Parameters(index = "0", arity = "0..1", paramLabel = "SEQUENCER", description = "Default: $PALISADE_SEQUENCER")
    @Nullable
    String sequencer;

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        String text = sequencer == null ? System.getenv(VARIABLE) : sequencer;
        if (text == null || text.isEmpty()) {
            throw asking.misuse("no SEQUENCER, and $" + VARIABLE + " is not set; palisade run sets it for its command");
        }
        boolean alive = asking.ask(client -> client.operations().isAlive(SignedSequencer.ofText(text)));
        if (asking.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("alive", alive);
            asking.print(json);
        } else {
            System.out.println(alive ? "alive" : "not alive");
        }
        return alive ? ExitCodes.OK : ExitCodes.NO;
    }
}
