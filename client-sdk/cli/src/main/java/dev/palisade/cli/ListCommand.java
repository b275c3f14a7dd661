package dev.palisade.cli;

import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.Paging;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.ListReply;
import dev.palisade.proto.v1.ListRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade list}: the locks in use. */
@Command(
        name = "list",
        description =
                "Lists the locks that are held, offered, waited for or in lock-delay and whose names begin with PREFIX.",
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
    @Parameters(index = "0", arity = "0..1", paramLabel = "PREFIX", description = "Default: all locks.")
    String prefix = "";

    @Mixin
    ServerCall server = new ServerCall();

    private long printed;

    @Override
    public Integer call() throws Failed {
        String checked = prefix.isEmpty() ? prefix : server.text("prefix", prefix, 0);
        server.with(servers -> {
            Paging.read(token -> page(servers, checked, token), this::show);
            return ExitCodes.OK;
        });
        if (printed == 0 && !server.json()) {
            System.err.println(
                    prefix.isEmpty() ? "no lock is in use" : "no lock in use begins with " + TerminalText.text(prefix));
        }
        return ExitCodes.OK;
    }

    private static Paging.Page<DescribeReply> page(LockServers servers, String prefix, String token) throws Failed {
        ListRequest request = ListRequest.newBuilder()
                .setPrefix(prefix)
                .setPageSize(Paging.PAGE_SIZE)
                .setPageToken(token)
                .build();
        ListReply reply = servers.call(stub -> stub.list(request));
        return new Paging.Page<>(reply.getLocksList(), reply.getNextPageToken());
    }

    /** A page at a time: a million locks need not be in memory to be printed. */
    private void show(List<DescribeReply> locks) {
        printed += locks.size();
        if (server.json()) {
            locks.forEach(lock -> server.print(LockText.json(lock)));
        } else if (!locks.isEmpty()) {
            List<List<String>> rows = new ArrayList<>();
            rows.add(LockText.head());
            locks.forEach(lock -> rows.add(LockText.row(lock)));
            System.out.print(TerminalText.table(rows));
        }
    }
}
