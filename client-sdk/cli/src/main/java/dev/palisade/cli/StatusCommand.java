package dev.palisade.cli;

import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.StoreReply;
import dev.palisade.proto.v1.StoreRequest;
import java.time.Clock;
import java.time.ZoneId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code palisade status}: state of the lock server's store. */
@Command(
        name = "status",
        description =
                "Shows whether the lock server can grant locks, where it keeps them, and the epoch of its tokens.",
        footer = {
            "",
            "Exit codes: 0 up or a standby, 1 the store is down, 3 no lock server replied.",
            "",
            "Example:",
            "  palisade status --json | jq .up"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class StatusCommand implements Callable<Integer> {
    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        StoreReply store = server.with(servers -> servers.call(stub -> stub.store(StoreRequest.getDefaultInstance())));
        if (server.json()) {
            server.print(StoreText.json(store));
        } else {
            System.out.print(StoreText.shown(store, Clock.system(ZoneId.systemDefault())));
        }
        return store.getUp() || store.getStandby() ? ExitCodes.OK : ExitCodes.NO;
    }
}
