package dev.palisade.chaos.abuse;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.ScenarioFailed;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code palisade chaos abuse}. */
@Command(
        name = "abuse",
        description = {
            "Floods a lock server as a hostile or broken client would, one kind after another, and shows what another client felt "
                    + "meanwhile. Starts a server of its own, unless --target names one on this machine.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 every bound held, 1 one did not, 2 wrong usage, 3 could not run.",
        },
        mixinStandardHelpOptions = true,
        sortOptions = false,
        usageHelpAutoWidth = true)
public final class AbuseCommand implements Callable<Integer> {
    private static final int SECONDS_MAX = 60;

    @Option(
            names = "--seconds",
            paramLabel = "N",
            defaultValue = "5",
            description = "How long each flood lasts, 1 to 60. Default: ${DEFAULT-VALUE}")
    private int seconds = 5;

    @Option(
            names = "--only",
            paramLabel = "NAME",
            split = ",",
            description = "Which floods, such as rapid-reset. Default: all")
    private List<String> only = List.of();

    @Option(
            names = "--target",
            paramLabel = "HOST:PORT",
            description = "A lock server on a loopback address. Its other clients feel it too.")
    private @Nullable String target;

    @Option(
            names = "--counts-only",
            description = "Judges what is left afterwards, and not how long calls took: for a machine with other work.")
    private boolean countsOnly;

    @Spec
    private @Nullable CommandSpec spec;

    /** For the command line's parser. */
    public AbuseCommand() {}

    @Override
    public Integer call() throws CannotStart, InterruptedException {
        require(seconds >= 1 && seconds <= SECONDS_MAX, "--seconds is " + seconds + "; use 1 to " + SECONDS_MAX);
        List<Flood> floods = floods();
        if (target != null) {
            return run(target, loopback(target), -1, floods);
        }
        try (Installation installation = Installation.fresh()) {
            Service server = installation.server();
            try {
                return run(
                        server.address(),
                        loopback(server.address()),
                        server.child().pid(),
                        floods);
            } finally {
                server.child().close();
            }
        } catch (ScenarioFailed e) {
            throw new CannotStart("the run was aborted: " + e.getMessage());
        }
    }

    private int run(String address, InetSocketAddress server, long pid, List<Flood> floods)
            throws InterruptedException {
        AbuseRun run = new AbuseRun(address, server, pid, Duration.ofSeconds(seconds), !countsOnly);
        System.out.println("palisade chaos abuse: lock server " + address + ", " + floods.size() + " floods of "
                + seconds + " s; the columns from calls to failed are another client's");
        System.out.println(FloodResult.heading());
        List<String> broken = new ArrayList<>();
        for (Flood flood : floods) {
            FloodResult result = run.run(flood);
            System.out.println(result.row());
            result.broken().forEach(bound -> broken.add(flood.word() + ": " + bound));
            if (!result.lockTaken()) {
                break;
            }
        }
        broken.forEach(bound -> System.out.println("palisade chaos abuse: BROKEN " + bound));
        System.out.println(
                broken.isEmpty()
                        ? "palisade chaos abuse: every bound held"
                        : "palisade chaos abuse: " + broken.size() + " bounds did not hold");
        return broken.isEmpty() ? 0 : 1;
    }

    private List<Flood> floods() {
        if (only.isEmpty()) {
            return List.of(Flood.values());
        }
        List<Flood> chosen = new ArrayList<>();
        for (String name : only) {
            chosen.add(Arrays.stream(Flood.values())
                    .filter(flood -> flood.word().equals(name))
                    .findFirst()
                    .orElseThrow(() -> misuse("--only has '" + name + "'; use "
                            + Arrays.stream(Flood.values()).map(Flood::word).collect(Collectors.joining(",")))));
        }
        return chosen;
    }

    /** Refuses every other address: a flood is for one's own machine. */
    private InetSocketAddress loopback(String address) {
        int colon = address.lastIndexOf(':');
        String port = address.substring(colon + 1);
        require(
                colon > 0 && port.matches("\\d{1,5}") && Integer.parseInt(port) <= 65_535,
                "--target is '" + address + "'; use HOST:PORT");
        InetSocketAddress server = new InetSocketAddress(address.substring(0, colon), Integer.parseInt(port));
        require(
                !server.isUnresolved() && server.getAddress().isLoopbackAddress(),
                "--target " + address + " is not a loopback address; floods are for this machine only");
        return server;
    }

    private void require(boolean right, String message) {
        if (!right) {
            throw misuse(message);
        }
    }

    private ParameterException misuse(String message) {
        if (spec == null) {
            throw new IllegalStateException("not parsed yet");
        }
        return new ParameterException(spec.commandLine(), message);
    }
}
