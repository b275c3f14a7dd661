package dev.palisade.incidents;

import dev.palisade.redis.RedisBinary;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code palisade chaos redis}. */
@Command(
        name = "redis",
        description = {
            "Injects real Redis failures while clients take tokens: crashes, power loss, old backups, lagging replicas, split "
                    + "brains, clock changes. Counts duplicate and decreasing tokens, for Palisade and for other lock libraries.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 as expected, 1 Palisade has a violation, 2 usage error, 3 could not run.",
        },
        subcommands = SumCommand.class,
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
public final class RedisIncidentsCommand extends IncidentsCommand<RedisNode> {
    @Option(
            names = "--against",
            paramLabel = "NAME",
            split = ",",
            description = "Token issuers: ${COMPLETION-CANDIDATES} (default: all).",
            completionCandidates = IssuerNames.class)
    private @Nullable List<String> against;

    /** The names that {@code --against} takes. */
    static final class IssuerNames implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return IssuerUnderTest.ON_REDIS.stream().map(IssuerUnderTest::name).iterator();
        }
    }

    /** For the command line's parser. */
    public RedisIncidentsCommand() {
        super(StoreUnderTest.REDIS);
    }

    @Override
    @Nullable
    List<String> against() {
        return against;
    }

    @Override
    String program() {
        return RedisBinary.find().toString();
    }

    @Override
    Optional<String> preloadMissing() {
        return RedisIncident.preloadMissing();
    }
}
