package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.LockServers.Replies;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import java.time.Clock;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code palisade status}: state of the lock server's store. */
@Command(
        name = "status",
        description =
                "Shows whether the lock server can grant locks, where it keeps them, and the epoch of its tokens. Of several "
                        + "servers it shows the active one, and names those that did not reply.",
        footer = {
            "",
            "Exit codes: 0 up or a standby, 1 the store is down, or several servers are active, 3 no lock server replied.",
            "",
            "Example:",
            "  palisade status --json | jq .up"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class StatusCommand implements Callable<Integer> {
    /** A deposed server has noticed by then. */
    private static final long CHECK_AGAIN_MILLIS = 1_000;

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        return print(server.with(StatusCommand::ask));
    }

    /** Prints the replies, and returns the exit code. */
    int print(Replies<StoreReply> replies) throws Failed {
        StoreReply store = shown(replies.replies());
        if (server.json()) {
            JsonObject json = StoreText.json(store);
            JsonArray missing = new JsonArray();
            replies.missing().forEach(missing::add);
            json.add("missing", missing);
            server.print(json);
        } else {
            System.out.print(StoreText.shown(store, Clock.system(ZoneId.systemDefault())));
            replies.missing().forEach(clause -> System.out.println("missing: " + TerminalText.text(clause)));
        }
        long active = activeTotal(replies);
        if (active > 1) {
            throw new Failed(
                    ExitCodes.NO,
                    "",
                    active + " of these lock servers are active and share no locks, so a lock can have several holders;"
                            + " give them the same --store and --store-prefix, or clients the addresses of one log;"
                            + " if they have the same, each uses another primary of it: stop the older one");
        }
        return store.getUp() || store.getStandby() ? ExitCodes.OK : ExitCodes.NO;
    }

    /** Replies of all servers; once more if several are active, as for a moment after a takeover. */
    static Replies<StoreReply> ask(LockServers servers) throws Failed {
        Replies<StoreReply> replies = servers.callEach(stub -> stub.store(StoreRequest.getDefaultInstance()));
        if (activeTotal(replies) <= 1) {
            return replies;
        }
        servers.pause(CHECK_AGAIN_MILLIS);
        return servers.callEach(stub -> stub.store(StoreRequest.getDefaultInstance()));
    }

    /** Of the active server, if there is one; else of one that should be: its store is down. */
    static StoreReply shown(List<StoreReply> replies) {
        return replies.stream()
                .filter(StoreReply::getUp)
                .findFirst()
                .or(() -> replies.stream().filter(reply -> !reply.getStandby()).findFirst())
                .orElse(replies.get(0));
    }

    /** How many different servers are active: one may have several addresses. */
    static long activeTotal(Replies<StoreReply> replies) {
        return replies.replies().stream()
                .filter(StoreReply::getUp)
                .map(StoreReply::getServer)
                .distinct()
                .count();
    }
}
