package dev.palisade.cli;

import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.RequestReleaseRequest;
import picocli.CommandLine.Command;

/** {@code palisade request-release}: asks the holders of a lock to release it. */
@Command(
        name = "request-release",
        description = {
            "Asks every holder of a lock to release it. Each holder decides for itself; palisade run terminates its command "
                    + "unless --on-release-request IGNORE is set. To end the lease of a holder that does not react, use "
                    + "palisade force-release."
        },
        footer = {"", "Example:", "  palisade request-release backup/db1 --why \"maintenance at noon\""},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class RequestReleaseCommand extends OperatorCommand {
    @Override
    public Integer call() throws Failed {
        RequestReleaseRequest request = RequestReleaseRequest.newBuilder()
                .setLock(server.lockName(name))
                .setBy(by())
                .setWhy(why())
                .build();
        int asked = server.with(
                servers -> servers.call(stub -> stub.requestRelease(request)).getHoldersAsked());
        String lock = TerminalText.text(name);
        return print(
                "holders_asked",
                asked,
                asked == 0
                        ? lock + " is not held"
                        : "asked " + counted(asked, "holder") + " of " + lock + " to release it");
    }
}
