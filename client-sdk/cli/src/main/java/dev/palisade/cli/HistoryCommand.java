package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.Operations.HistoryEntry;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.time.Clock;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade history}: what happened to a lock. */
@Command(
        name = "history",
        description = {
            "Tells the last things that happened to a lock, oldest first. A restart of the server forgets them, "
                    + "except forced releases."
        },
        footer = {"", "Example:", "  palisade history backup/db1"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class HistoryCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "NAME", description = "The lock.")
    String name = "";

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        List<HistoryEntry> entries = asking.ask(client -> client.operations().history(name));
        if (asking.json()) {
            entries.forEach(entry -> asking.print(json(entry)));
        } else if (entries.isEmpty()) {
            System.err.println("nothing is known of " + Plain.text(name) + " since the lock server started");
        } else {
            System.out.print(shown(entries, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }

    static String shown(List<HistoryEntry> entries, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("WHEN", "WHAT", "TOKEN", "OWNER", "DETAIL"));
        for (HistoryEntry entry : entries) {
            rows.add(List.of(
                    Ages.ago(entry.at(), clock.instant(), clock.getZone()),
                    entry.what(),
                    entry.token().map(Object::toString).orElse("-"),
                    entry.owner(),
                    entry.detail()));
        }
        return Plain.table(rows);
    }

    private JsonObject json(HistoryEntry entry) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", name);
        json.addProperty("at", entry.at().toString());
        json.addProperty("what", entry.what());
        entry.token().ifPresent(token -> json.addProperty("token", token.value()));
        json.addProperty("grant", entry.grant().toString());
        json.addProperty("owner", entry.owner());
        json.addProperty("detail", entry.detail());
        return json;
    }
}
