package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.CallerName;
import dev.palisade.cli.term.ExitCodes;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Command by which an operator acts on the holders of a lock, on record with name and reason. Prints how many it
 * reached.
 */
abstract class OperatorCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock.")
    String name = "";

    @Option(
            names = "--why",
            required = true,
            paramLabel = "TEXT",
            description = "The reason; the holder sees it, and the history records it.")
    String why = "";

    @Option(names = "--by", paramLabel = "TEXT", description = "Name of the operator. Default: user@host")
    String by = CallerName.userAtHost();

    @Mixin
    ServerCall server = new ServerCall();

    final String by() {
        return server.text("by", by, 1);
    }

    final String why() {
        return server.text("why", why, 1);
    }

    /** Such as {@code 1 lease} or {@code 2 leases}. */
    static String counted(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    /**
     * Prints the result and returns the exit code: {@link ExitCodes#NO} for none.
     *
     * @param field of {@code reached} in JSON
     */
    final int print(String field, int reached, String text) {
        if (server.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("lock", name);
            json.addProperty(field, reached);
            server.print(json);
        } else {
            System.out.println(text);
        }
        return reached == 0 ? ExitCodes.NO : ExitCodes.OK;
    }
}
