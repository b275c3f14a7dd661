package dev.palisade.gateway;

import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.guard.MarkStore;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code palisade gateway init}: makes the mark store of a service that was never guarded before. Once, at
 * installation.
 */
@Command(
        name = "init",
        description = "Makes the mark store of a service that was never guarded before. Once, at installation; never to"
                + " replace a store that was lost.")
final class InitCommand implements Callable<Integer> {
    @SuppressWarnings("UnusedVariable")
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help and exit.")
    private boolean help;

    @Parameters(paramLabel = "FILE", description = "The gateway's YAML file.")
    private String file = "";

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        CommandSpec command = Objects.requireNonNull(spec);
        try {
            GatewayConfig config = ConfigFile.read(file);
            make(config);
            PrintWriter out = command.commandLine().getOut();
            out.println("palisade gateway: made the mark store " + config.marksText());
            out.flush();
            return 0;
        } catch (ConfigRefused e) {
            return e.report(command);
        } catch (IOException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        } catch (RejectedException e) {
            throw new CannotStart(e.rejection().message());
        }
    }

    private static void make(GatewayConfig config) throws IOException {
        RegisterConfig shared = config.register();
        if (shared == null) {
            MarkStore.createNeverUsed(config.marks());
            return;
        }
        try (OpenRegister register = shared.open()) {
            register.createNeverUsed();
        }
    }
}
