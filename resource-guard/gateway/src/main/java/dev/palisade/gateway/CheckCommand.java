package dev.palisade.gateway;

import dev.palisade.contract.cli.Commands;
import dev.palisade.contract.cli.TerminalEscape;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code palisade gateway check}: prints what a config file would guard, or each of its mistakes, and each file that it names
 * and a start could not use. Listens nowhere and calls nothing.
 */
@Command(
        name = "check",
        description = "Prints what a gateway with this file would guard by which lock, what is wrong with the file, and"
                + " which keysets, tokens and certificates that it names cannot be used.",
        footer = {
            "",
            "Exit codes: 0 a gateway could start, 2 wrong usage or a mistake in the file, 3 a file that it names"
                    + " cannot be used."
        })
final class CheckCommand implements Callable<Integer> {
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
    public Integer call() {
        CommandSpec command = Objects.requireNonNull(spec);
        try {
            GatewayConfig config = ConfigFile.read(file);
            print(config, command.commandLine().getOut());
            List<String> unusable = NamedFiles.problems(config, Instant.now());
            return unusable.isEmpty() ? 0 : new ConfigRefused(unusable).report(command, Commands.CANNOT_START);
        } catch (ConfigRefused e) {
            return e.report(command);
        }
    }

    private static void print(GatewayConfig config, PrintWriter out) {
        out.println("listens on " + config.listen().getHostString() + ":"
                + config.listen().getPort()
                + with(config.tls())
                + ", forwards to " + String.join(", ", config.upstream().addresses()) + " by "
                + (config.upstream().http2() ? "HTTP/2" : "HTTP/1.1")
                + (config.upstream().tls() == null ? "" : " with TLS"));
        out.println("protects '" + TerminalEscape.text(config.protects()) + "', locks of issuer "
                + TerminalEscape.text(config.issuer()) + (config.observeOnly() ? ", OBSERVES ONLY" : "")
                + (config.register() == null ? "" : ", with other gateways at " + config.register()));
        out.println();
        RouteListing.lines(config.routes(), config.upstream().http2())
                .forEach(line -> out.println(TerminalEscape.text(line)));
        if (config.messageLocks() == null) {
            out.println();
            out.println("the fields of messages are checked at the start, by the reflection of the service");
        }
        if (config.upstream().http2()) {
            out.println();
            out.println("gRPC's health and reflection pass without a guard, unless a route names them");
        }
        out.flush();
    }

    private static String with(@Nullable TlsConfig tls) {
        if (tls == null) {
            return "";
        }
        return tls.authorities() == null ? " with TLS" : " with TLS for verified clients";
    }
}
