package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.Paging;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.ListedSession;
import dev.palisade.proto.v1.SessionsReply;
import dev.palisade.proto.v1.SessionsRequest;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code palisade sessions}: connected client processes. */
@Command(
        name = "sessions",
        description = "Lists the client processes that are connected to the lock server.",
        footer = {"", "Example:", "  palisade sessions --json | jq -r 'select(.connected | not).owner'"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class SessionsCommand implements Callable<Integer> {
    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        List<ListedSession> sessions = new ArrayList<>();
        server.with(servers -> {
            Paging.read(token -> page(servers, token), sessions::addAll);
            return ExitCodes.OK;
        });
        if (server.json()) {
            sessions.forEach(session -> server.print(json(session)));
        } else {
            System.out.print(shown(sessions, Clock.system(ZoneId.systemDefault())));
        }
        return ExitCodes.OK;
    }

    private static Paging.Page<ListedSession> page(LockServers servers, String token) throws Failed {
        SessionsRequest request = SessionsRequest.newBuilder()
                .setPageSize(Paging.PAGE_SIZE)
                .setPageToken(token)
                .build();
        SessionsReply reply = servers.call(stub -> stub.sessions(request));
        return new Paging.Page<>(reply.getSessionsList(), reply.getNextPageToken());
    }

    static String shown(List<ListedSession> sessions, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("SESSION", "OWNER", "LEASES", "WAITING", "CONNECTED", "LAST MESSAGE"));
        for (ListedSession session : sessions) {
            String since = TimeFormat.ago(connectedAt(session), clock.instant(), clock.getZone());
            rows.add(List.of(
                    session.getSession(),
                    LockText.client(session.getOwner(), session.getPrincipal()),
                    TerminalText.count(session.getLeases()),
                    TerminalText.count(session.getWaiting()),
                    session.getConnected() ? since : "disconnected; was connected " + since,
                    session.getHeardMillisAgo() < 0
                            ? "?"
                            : TimeFormat.durationMillis(session.getHeardMillisAgo()) + " ago"));
        }
        return TerminalText.table(rows);
    }

    static JsonObject json(ListedSession session) {
        JsonObject json = new JsonObject();
        json.addProperty("session", session.getSession());
        json.addProperty("owner", session.getOwner());
        json.addProperty("principal", session.getPrincipal());
        LockText.add(json, "generation", session.getSessionGen());
        json.addProperty("connected", session.getConnected());
        json.addProperty("connected_at", connectedAt(session).toString());
        LockText.add(json, "last_heard_millis", session.getHeardMillisAgo());
        LockText.add(json, "leases", session.getLeases());
        LockText.add(json, "waiting", session.getWaiting());
        json.addProperty("keeps_leases_on_disconnect", session.getKeepLeasesOnDisconnect());
        return json;
    }

    private static Instant connectedAt(ListedSession session) {
        return Instant.ofEpochMilli(session.getConnectedAtEpochMillis());
    }
}
