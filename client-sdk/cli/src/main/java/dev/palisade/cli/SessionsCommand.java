package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.SessionDescription;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.time.Clock;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code palisade sessions}: who is connected. */
@Command(
        name = "sessions",
        description = "Lists the client processes that are connected to the lock server, this one included.",
        footer = {"", "Example:", "  palisade sessions --json | jq -r 'select(.connected | not).owner'"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class SessionsCommand implements Callable<Integer> {
    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        List<SessionDescription> sessions =
                asking.ask(client -> client.operations().sessions().toList());
        if (asking.json()) {
            sessions.forEach(session -> asking.print(json(session)));
        } else {
            System.out.print(shown(sessions, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }

    static String shown(List<SessionDescription> sessions, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("SESSION", "OWNER", "LEASES", "WAITING", "CONNECTED", "LAST HEARD"));
        for (SessionDescription session : sessions) {
            String since = Ages.ago(session.connectedAt(), clock.instant(), clock.getZone());
            rows.add(List.of(
                    session.session(),
                    session.owner(),
                    String.valueOf(session.leases()),
                    String.valueOf(session.waiting()),
                    session.connected() ? since : "broken; was connected " + since,
                    Ages.of(session.lastHeard()) + " ago"));
        }
        return Plain.table(rows);
    }

    static JsonObject json(SessionDescription session) {
        JsonObject json = new JsonObject();
        json.addProperty("session", session.session());
        json.addProperty("owner", session.owner());
        json.addProperty("generation", session.generation());
        json.addProperty("connected", session.connected());
        json.addProperty("connected_at", session.connectedAt().toString());
        json.addProperty("last_heard_millis", session.lastHeard().toMillis());
        json.addProperty("leases", session.leases());
        json.addProperty("waiting", session.waiting());
        json.addProperty("keeps_leases_on_disconnect", session.keepsLeasesOnDisconnect());
        return json;
    }
}
