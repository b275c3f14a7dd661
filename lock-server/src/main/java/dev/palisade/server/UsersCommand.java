package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.cli.Version;
import dev.palisade.server.access.FileMistakes;
import dev.palisade.server.access.UserTokens;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade users}: makes tokens for clients of the lock server. */
@Command(
        name = "users",
        description = {
            "Makes a token for a client of the lock server, and prints it once: the file holds its hash only.",
            "",
            "  palisade users add NAME > token-file",
            "",
            "To replace a token, add another one of the same name, then delete the line of the old one. To withdraw one, delete its "
                    + "line. The server takes up a changed file within a few seconds.",
            "",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class UsersCommand implements Callable<Integer> {
    enum Verb {
        add
    }

    @Parameters(index = "0", paramLabel = "add", description = "What to do.")
    Verb verb = Verb.add;

    @Parameters(index = "1", paramLabel = "NAME", description = "The client, as the policy calls it.")
    String name = "";

    @Option(
            names = "--users",
            paramLabel = "FILE",
            description = "Made, mode 0600, if it does not exist. Default: $PALISADE_HOME/users, or ~/.palisade/users")
    Path users = Defaults.home().resolve("users");

    @Spec
    @Nullable
    CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        byte[] random = new byte[UserTokens.TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        try {
            System.out.println(UserTokens.add(users, name, random, LocalDate.now(ZoneOffset.UTC)));
            return 0;
        } catch (FileMistakes e) {
            throw ServerAccess.told(e);
        } catch (IOException e) {
            throw new CannotStart("users file " + users + " cannot be written (" + e.getMessage() + ")");
        } catch (IllegalArgumentException e) {
            throw new ParameterException(Objects.requireNonNull(spec).commandLine(), String.valueOf(e.getMessage()));
        }
    }
}
