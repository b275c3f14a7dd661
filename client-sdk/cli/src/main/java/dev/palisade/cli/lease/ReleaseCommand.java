package dev.palisade.cli.lease;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import picocli.CommandLine.Command;

/** {@code palisade release}: releases a lease of {@code palisade acquire}. */
@Command(
        name = "release",
        description = "Releases a lease of palisade acquire.",
        footer = {
            "",
            "Exit codes: 0 released, 1 the lease had ended before.",
            "",
            "Example:",
            "  palisade release \"$PALISADE_LEASE\""
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
public final class ReleaseCommand extends LeaseCommand {
    public ReleaseCommand() {
        super("released");
    }

    @Override
    int run(LockServers servers, LeaseCredential credential) throws Failed {
        var unused = call(servers, credential, stub -> stub.release(credential.releasing()));
        if (server.json()) {
            server.print(json(credential, true));
        } else {
            System.out.println("released " + TerminalText.text(credential.lock()));
        }
        return ExitCodes.OK;
    }
}
