package dev.palisade.chaos;

import dev.palisade.chaos.abuse.AbuseCommand;
import dev.palisade.faults.ExplainCommand;
import dev.palisade.faults.FaultsCommand;
import dev.palisade.faults.TimelineCommand;
import dev.palisade.incidents.PostgresIncidentsCommand;
import dev.palisade.incidents.RedisIncidentsCommand;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos}: the parent of its subcommands. */
@Command(
        name = "chaos",
        description =
                "Injects faults into lock servers, clients, Redis and PostgreSQL, and checks the documented guarantees.",
        subcommands = {
            FaultsCommand.class,
            ExplainCommand.class,
            TimelineCommand.class,
            RedisIncidentsCommand.class,
            PostgresIncidentsCommand.class,
            AbuseCommand.class
        },
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
final class ChaosCommand implements Callable<Integer> {
    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() {
        if (spec == null) {
            throw new IllegalStateException("not parsed yet");
        }
        throw new ParameterException(
                spec.commandLine(), "no subcommand; use run, explain, timeline, redis, postgresql or abuse");
    }
}
