package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Version;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code palisade version}: version of this command line and of the Java that runs it. */
@Command(
        name = "version",
        description = "Prints the version of Palisade and of Java.",
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class VersionCommand implements Callable<Integer> {
    @Option(names = "--json", description = "Print JSON.")
    boolean json;

    @Override
    public Integer call() {
        String java = System.getProperty("java.version", "?");
        if (json) {
            JsonObject object = new JsonObject();
            object.addProperty("version", Version.text());
            object.addProperty("java", java);
            System.out.println(object);
        } else {
            System.out.println("palisade " + Version.text() + " (Java " + java + ")");
        }
        return ExitCodes.OK;
    }
}
