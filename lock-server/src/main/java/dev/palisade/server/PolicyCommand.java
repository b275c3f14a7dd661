package dev.palisade.server;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.TerminalEscape;
import dev.palisade.contract.cli.Version;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.FileMistakes;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import dev.palisade.server.access.Verb;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade policy}: checks a policy, and explains what it decides. */
@Command(
        name = "policy",
        description = {
            "Checks a policy file, and explains its decision.",
            "",
            "  palisade policy check FILE",
            "  palisade policy check FILE --users USERS",
            "  palisade policy check FILE --as alice --verb acquire --lock jobs/1",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 good, or allowed; 1 denied, or with --users a name that no token has; 2 wrong usage; 3 a file has"
                    + " mistakes."
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class PolicyCommand implements Callable<Integer> {
    private static final int DENIED = 1; // Or not in order.

    enum Action {
        check
    }

    @Parameters(index = "0", paramLabel = "check", description = "What to do.")
    Action action = Action.check;

    @Parameters(index = "1", paramLabel = "FILE", description = "The policy.")
    Path file = Path.of("");

    @Option(
            names = "--as",
            paramLabel = "NAME",
            description = "The client: a user's name, dns:NAME, uri:URI or jwt:SUBJECT.")
    @Nullable
    String principal;

    @Option(
            names = "--users",
            paramLabel = "USERS",
            description =
                    "Reports names that no token of this file has. Names of certificates and JWTs are not checked.")
    @Nullable
    Path users;

    @Option(names = "--verb", paramLabel = "VERB", description = "What it wants to do.")
    @Nullable
    String verb;

    @Option(names = "--lock", paramLabel = "LOCK", description = "With which lock; operate needs none.")
    @Nullable
    String lock;

    @Spec
    @Nullable
    CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        boolean isWhole = principal == null && verb == null && lock == null;
        if (users != null && !isWhole) {
            throw misuse("--users is for the whole policy; leave out --as, --verb and --lock");
        }
        Policy policy;
        List<String> unused;
        try {
            policy = new AccessFile<>(file, false, Policy::parse).value();
            unused =
                    users == null ? List.of() : policy.unused(new AccessFile<>(users, true, UserTokens::parse).value());
        } catch (FileMistakes e) {
            throw ServerAccess.told(e);
        }
        if (isWhole) {
            System.out.println(TerminalEscape.text(policy.shown()));
            unused.forEach(line -> System.err.println(TerminalEscape.text(line)));
            return unused.isEmpty() ? 0 : DENIED;
        }
        if (principal == null || !Policy.isPrincipal(principal)) {
            throw misuse("--as names the client: the name of a token, dns:NAME, uri:URI or jwt:SUBJECT");
        }
        Verb asked = Verb.of(verb == null ? "" : verb)
                .orElseThrow(() -> misuse("--verb is one of " + String.join(", ", Verb.words())));
        if ((asked == Verb.OPERATE) == (lock != null)) {
            throw misuse(lock == null ? "--lock names the lock" : "operate is of the whole server; leave out --lock");
        }
        String named = lock == null ? "" : lockName(lock);
        System.out.println(TerminalEscape.text(policy.explain(principal, asked, named)));
        return policy.rights(principal).may(asked, named) ? 0 : DENIED;
    }

    private String lockName(String name) {
        try {
            return new LockName(name).value();
        } catch (RejectedException e) {
            throw misuse(e.rejection().message());
        }
    }

    private ParameterException misuse(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
