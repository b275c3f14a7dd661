package dev.palisade.cli;

import com.google.gson.JsonObject;
import dev.palisade.cli.call.LockServers;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Holder;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * {@code palisade watch}: a line whenever the holders of a lock have changed. Polls; the protocol pushes nothing to
 * non-holders.
 */
@Command(
        name = "watch",
        description = {
            "Prints the holders of a lock, and a line whenever they have changed, until interrupted. It polls the server: holders "
                    + "that come and go between two polls are in palisade history only."
        },
        footer = {"", "Examples:", "  palisade watch backup/db1", "  palisade watch leader --json --count 2"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class WatchCommand implements Callable<Integer> {
    private static final Duration INTERVAL_MIN = Duration.ofMillis(50);
    private static final Duration INTERVAL_MAX = Duration.ofHours(1);

    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock.")
    String name = "";

    @Option(names = "--count", paramLabel = "N", description = "End after N lines. Default: when interrupted")
    @Nullable
    Integer count;

    @Option(
            names = "--interval",
            paramLabel = "TIME",
            defaultValue = "1s",
            converter = DurationOption.class,
            description = "Time between two polls. Default: ${DEFAULT-VALUE}")
    Duration interval = Duration.ofSeconds(1);

    @Mixin
    ServerCall server = new ServerCall();

    private final Clock clock = Clock.system(ZoneId.systemDefault());

    @Override
    public Integer call() throws Failed {
        String lock = server.lockName(name);
        server.within("--interval", interval, INTERVAL_MIN, INTERVAL_MAX);
        if (count != null && count < 1) {
            throw server.usageError("--count is " + count + "; use 1 or more");
        }
        return server.with(servers -> watch(servers, lock));
    }

    private int watch(LockServers servers, String lock) throws Failed {
        List<Long> before = null;
        int printed = 0;
        while (true) {
            servers.restartTime();
            DescribeReply now = servers.reach(lock);
            List<Long> tokens =
                    now.getHoldersList().stream().map(Holder::getToken).sorted().toList();
            if (!tokens.equals(before)) {
                before = tokens;
                print(now);
                printed++;
            }
            // The reader may have ended, as in: palisade watch x | head -n 1
            if ((count != null && printed >= count) || System.out.checkError()) {
                return ExitCodes.OK;
            }
            servers.pause(interval.toMillis());
        }
    }

    private void print(DescribeReply lock) {
        if (server.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("at", clock.instant().toString());
            LockText.json(lock).entrySet().forEach(field -> json.add(field.getKey(), field.getValue()));
            server.print(json);
        } else {
            System.out.println(line(lock, clock));
        }
    }

    /** Such as {@code 2026-11-21T13:00:30+01:00 backup/db1: held by host pid 7 since ..., token 33}. */
    static String line(DescribeReply lock, Clock clock) {
        String holders = lock.getHoldersCount() == 1
                ? "held by " + LockText.holder(lock.getHolders(0), clock)
                : LockText.state(lock);
        return TimeFormat.at(clock.instant(), clock.getZone()) + " " + TerminalText.text(lock.getLock()) + ": "
                + holders;
    }
}
