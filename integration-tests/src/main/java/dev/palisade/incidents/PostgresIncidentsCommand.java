package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands.CannotStart;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code palisade chaos postgresql}. */
@Command(
        name = "postgresql",
        description = {
            "Injects real PostgreSQL failures while clients take tokens: crashes, lagging standbys, split brains, old backups, "
                    + "deleted tables, frozen links. Counts duplicate and decreasing tokens, for Palisade and for a table of locks.",
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
public final class PostgresIncidentsCommand extends IncidentsCommand<PostgresNode> {
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
            return IssuerUnderTest.ON_POSTGRESQL.stream()
                    .map(IssuerUnderTest::name)
                    .iterator();
        }
    }

    /** For the command line's parser. */
    public PostgresIncidentsCommand() {
        super(StoreUnderTest.POSTGRESQL);
    }

    @Override
    @Nullable
    List<String> against() {
        return against;
    }

    @Override
    String program() throws CannotStart {
        return PostgresPrograms.find()
                .orElseThrow(() -> new CannotStart("there is no PostgreSQL " + PostgresPrograms.VERSION_MIN
                        + " or newer, neither on the PATH nor in /usr/lib/postgresql; install its server, or put the "
                        + "directory of its programs on the PATH"))
                .toString();
    }

    @Override
    Optional<String> preloadMissing() {
        return Optional.empty();
    }
}
