package dev.palisade.cli;

import dev.palisade.cli.term.Asking;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.LockDescription;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Version;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade list}: the locks in use. */
@Command(
        name = "list",
        description = "Lists the locks that are held, offered, waited for or closed, by the beginning of their names.",
        footer = {
            "",
            "Examples:",
            "  palisade list backup/",
            "  palisade list --json | jq -r 'select(.waiters_total > 0).lock'"
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class ListCommand implements Callable<Integer> {
    /** So many rows share their columns; a million locks need not be in memory to be shown. */
    private static final int ROWS_PER_TABLE = 500;

    @Parameters(index = "0", arity = "0..1", paramLabel = "PREFIX", description = "Default: all.")
    String prefix = "";

    @Mixin
    Asking asking = new Asking();

    @Override
    public Integer call() throws CannotStart {
        return asking.ask(client -> {
            Iterator<LockDescription> locks = client.operations().list(prefix).iterator();
            if (asking.json()) {
                locks.forEachRemaining(lock -> asking.print(LockText.json(lock)));
            } else {
                show(locks);
            }
            return ExitCodes.OK;
        });
    }

    private void show(Iterator<LockDescription> locks) {
        boolean any = false;
        while (locks.hasNext()) {
            List<List<String>> rows = new ArrayList<>();
            rows.add(LockText.head());
            while (locks.hasNext() && rows.size() <= ROWS_PER_TABLE) {
                rows.add(LockText.row(locks.next()));
            }
            System.out.print(Plain.table(rows));
            any = true;
        }
        if (!any) {
            System.err.println(
                    prefix.isEmpty() ? "no lock is in use" : "no lock in use begins with " + Plain.text(prefix));
        }
    }
}
