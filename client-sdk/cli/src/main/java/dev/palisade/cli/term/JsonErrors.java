package dev.palisade.cli.term;

import com.google.gson.JsonObject;
import dev.palisade.contract.cli.Commands.ErrorFormat;
import dev.palisade.contract.cli.Commands.Failed;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** Errors as JSON where a verb was called with {@code --json}, also where its command line is wrong; else as text. */
public final class JsonErrors implements ErrorFormat {
    private static final String JSON = "--json";

    private final List<String> args;

    /** @param args of the verb */
    public JsonErrors(List<String> args) {
        this.args = List.copyOf(args);
    }

    @Override
    public String line(CommandLine command, Failed failure) {
        OptionSpec json = command.getCommandSpec().findOption(JSON);
        if (json == null || !(args.contains(JSON) || Boolean.TRUE.equals(json.getValue()))) {
            return TEXT.line(command, failure);
        }
        JsonObject object = new JsonObject();
        object.addProperty("error", failure.message());
        object.addProperty("exit_code", failure.exitCode());
        if (!failure.reason().isEmpty()) {
            object.addProperty("reason", failure.reason());
        }
        return TerminalText.json(object.toString());
    }
}
