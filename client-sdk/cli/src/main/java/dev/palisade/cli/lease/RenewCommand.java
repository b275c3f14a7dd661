package dev.palisade.cli.lease;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;

/** {@code palisade renew}: gives a lease of {@code palisade acquire} its full length again. */
@Command(
        name = "renew",
        description =
                "Renews a lease of palisade acquire: it lasts its full --ttl from now. A lease that has ended stays ended.",
        footer = {
            "",
            "Exit codes: 0 renewed, 1 the lease has ended: stop working under the lock.",
            "",
            "Example:",
            "  while sleep 20; do palisade renew || kill $$; done &"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
public final class RenewCommand extends LeaseCommand {
    public RenewCommand() {
        super("renewed");
    }

    @Override
    int run(LockServers servers, LeaseCredential credential) throws Failed {
        long sent = System.nanoTime();
        long ttl = call(servers, credential, stub -> stub.renew(credential.renewal()))
                .getTtlMillis();
        long remaining = Math.max(0, ttl - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sent));
        if (server.json()) {
            JsonObject json = json(credential, true);
            json.addProperty("ttl_millis", ttl);
            json.addProperty("remaining_millis", remaining);
            server.print(json);
        } else {
            System.out.println(
                    "renewed " + TerminalText.text(credential.lock()) + " for " + TimeFormat.durationMillis(remaining));
        }
        return ExitCodes.OK;
    }
}
