package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.HistoryEntry;
import dev.palisade.proto.v1.HistoryRequest;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade history}: recent events of a lock. */
@Command(
        name = "history",
        description = {
            "Shows the most recent events of a lock, oldest first. A restart of the server deletes them, except forced "
                    + "releases."
        },
        footer = {"", "Example:", "  palisade history backup/db1"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class HistoryCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock.")
    String name = "";

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        HistoryRequest request =
                HistoryRequest.newBuilder().setLock(server.lockName(name)).build();
        List<HistoryEntry> entries = server.with(
                servers -> servers.call(stub -> stub.history(request)).getEntriesList());
        if (server.json()) {
            entries.forEach(entry -> server.print(json(entry)));
        } else if (entries.isEmpty()) {
            System.err.println("no events of " + TerminalText.text(name)
                    + " since the lock server started, or became the active one");
        } else {
            System.out.print(shown(entries, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }

    static String shown(List<HistoryEntry> entries, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("WHEN", "EVENT", "TOKEN", "OWNER", "DETAIL"));
        for (HistoryEntry entry : entries) {
            if (entry.getAfterGap() && rows.size() > 1) {
                rows.add(List.of("", "(events may be missing)", "", "", ""));
            }
            rows.add(List.of(
                    TimeFormat.ago(at(entry), clock.instant(), clock.getZone()),
                    entry.getWhat(),
                    entry.getToken() == 0 ? "-" : String.valueOf(entry.getToken()),
                    entry.getOwner(),
                    entry.getDetail()));
        }
        return TerminalText.table(rows);
    }

    private JsonObject json(HistoryEntry entry) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", name);
        json.addProperty("at", at(entry).toString());
        json.addProperty("what", entry.getWhat());
        if (entry.getToken() != 0) {
            json.addProperty("token", entry.getToken());
        }
        json.addProperty("grant", HexFormat.of().formatHex(entry.getGrantId().toByteArray()));
        json.addProperty("owner", entry.getOwner());
        json.addProperty("detail", entry.getDetail());
        json.addProperty("after_gap", entry.getAfterGap());
        if (!entry.getCause().isEmpty()) {
            json.addProperty("cause", entry.getCause());
        }
        return json;
    }

    private static Instant at(HistoryEntry entry) {
        return Instant.ofEpochMilli(entry.getAtEpochMillis());
    }
}
