package dev.palisade.demo;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.demo.PauseRace.Outcome;
import dev.palisade.picture.Picture;
import dev.palisade.picture.ShortTokens;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.Spec;

/** {@code palisade demo}. */
@Command(
        name = "demo",
        description = {
            "Shows the pause race with real processes: a client is stopped right before its write until its lease has "
                    + "ended and another client has the lock, then continued. With the guard, its write is refused.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 saw exactly that, 1 saw something else, 2 wrong usage, 3 could not run.",
        },
        subcommands = {CouponsCommand.class, GatewayCommand.class},
        mixinStandardHelpOptions = true,
        usageHelpAutoWidth = true)
final class DemoCommand implements Callable<Integer> {
    @Option(
            names = "--unguarded",
            scope = ScopeType.INHERIT,
            description = "Switch the guard off and see what is lost.")
    boolean unguarded;

    @Option(
            names = "--secure",
            description =
                    "The same with TLS, client certificates, a policy and sequencers signed with Ed25519; all made"
                            + " in a temporary folder.")
    boolean secure;

    @Option(
            names = "--store",
            paramLabel = "URI",
            scope = ScopeType.INHERIT,
            description = "Keep the locks in that Redis, under palisade-demo:*, and not in a data directory.")
    @Nullable
    String store;

    @Option(
            names = "--expect-refusal",
            hidden = true,
            description = "With --unguarded: still expect the refusal, and so fail. For the demo's own test.")
    boolean expectRefusal;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        Timeline timeline = new Timeline(System.out);
        try (Installation installation = fresh()) {
            PauseRace race = new PauseRace(timeline);
            if (secure) {
                timeline.say(
                        "files", "an authority, certificates, a policy and an Ed25519 keyset, in a temporary folder");
                installation.secured("A", "B");
            }
            Outcome outcome = race.run(installation, !unguarded);
            boolean asExpected = verdict(outcome, race.tokens(), secure ? "demo --secure" : "demo");
            draw(race.scenes(), outcome);
            return asExpected ? 0 : 1;
        } catch (ScenarioFailed e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    /** For a subcommand: fresh, and with the store that was asked for. */
    Installation installation() {
        if (secure) {
            throw new ParameterException(
                    Objects.requireNonNull(spec).commandLine(),
                    "--secure is for 'palisade demo' alone, not its subcommands");
        }
        return fresh();
    }

    private Installation fresh() {
        Installation fresh = Installation.fresh();
        return store == null ? fresh : fresh.onStore(store, "palisade-demo");
    }

    /** The same file each time, so that a browser that shows it needs a reload only. */
    private void draw(Scenes scenes, Outcome outcome) throws CannotStart {
        String name = "pause-race" + (secure ? "-secure" : "") + (unguarded ? "-unguarded" : "");
        String title =
                Installation.launcher() + " demo" + (secure ? " --secure" : "") + (unguarded ? " --unguarded" : "");
        try {
            Path file = PageFolder.find().resolve(name + ".html");
            Picture.write(title, scenes.events(), outcome.violations(), file);
            System.out.println("The picture: file://" + file.toUri().getRawPath());
        } catch (IOException e) {
            throw new CannotStart("cannot write the picture: " + e.getMessage());
        }
    }

    /** @param command that shows the other half */
    boolean verdict(Outcome outcome, ShortTokens tokens, String command) {
        System.out.println();
        if (unguarded && !expectRefusal) {
            System.out.println(
                    outcome.overwritten()
                            ? "Without a guard the late write went through: 38 in stock, and B's sale is lost. Now run: "
                                    + Installation.launcher() + " " + command
                            : "UNEXPECTED: the unguarded write was not applied over B's.");
            return outcome.overwritten();
        }
        System.out.println(
                outcome.guarded()
                        ? "The late write was refused: token " + tokens.of(outcome.tokenA()) + " is older than "
                                + tokens.of(outcome.tokenB())
                                + ". The object is B's, and A knows that it must read again and redo its sale. To see it without the guard: "
                                + Installation.launcher() + " "
                                + command + " --unguarded"
                        : "FAILED: the late write was not refused as it must be.");
        return outcome.guarded();
    }
}
