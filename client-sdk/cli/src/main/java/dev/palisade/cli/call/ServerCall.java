package dev.palisade.cli.call;

import com.google.gson.JsonObject;
import dev.palisade.cli.term.ConnectionOptions;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.Texts;
import dev.palisade.contract.cli.Commands.Failed;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shared part of the commands that call a lock server: connection options, argument checks, and output format. */
public final class ServerCall {
    private static final int TEXT_BYTES_MAX = 256;

    @Mixin
    ConnectionOptions connection = new ConnectionOptions();

    @Option(
            names = "--json",
            description =
                    "Print JSON: one object in one line, or one line for each item. Errors too, on standard error.")
    boolean json;

    @Spec(Spec.Target.MIXEE)
    @Nullable
    CommandSpec spec;

    /** The calls that one command sends. */
    @FunctionalInterface
    public interface Calls<T> {
        T on(LockServers servers) throws Failed;
    }

    /** Whether the output is JSON. */
    public boolean json() {
        return json;
    }

    /** Prints {@code object} in one line. */
    public void print(JsonObject object) {
        System.out.println(TerminalText.json(object.toString()));
    }

    /** The value of {@code --timeout}. */
    public Duration timeout() {
        return connection.timeout(command());
    }

    /** @throws Failed in one line, with its exit code, when no server could decide or one rejected the request */
    public <T> T with(Calls<T> calls) throws Failed {
        try (LockServers servers = new LockServers(
                connection.address(), connection.credentials(command()), timeout(), RetryClock.SYSTEM)) {
            return calls.on(servers);
        }
    }

    /** @throws ParameterException when no lock can have this name */
    public String lockName(String name) {
        try {
            return new LockName(name).value();
        } catch (RejectedException e) {
            throw usageError(e.rejection().message());
        }
    }

    /** @throws ParameterException when no sequencer can have this text */
    public SignedSequencer sequencer(String text) {
        try {
            return SignedSequencer.ofText(text);
        } catch (RejectedException e) {
            throw usageError(e.rejection().message());
        }
    }

    /** @throws ParameterException when the text is longer than {@code atLeast} to 256 bytes allow */
    public String text(String what, String text, int atLeast) {
        try {
            return Texts.checked(what, text, atLeast, TEXT_BYTES_MAX);
        } catch (RejectedException e) {
            throw usageError(e.rejection().message());
        }
    }

    /** @throws ParameterException when a time is out of range */
    public void within(String option, Duration given, Duration least, Duration most) {
        ConnectionOptions.within(command(), option, given, least, most);
    }

    /** The exception for an unusable command line. */
    public ParameterException usageError(String message) {
        return new ParameterException(command().commandLine(), message);
    }

    private CommandSpec command() {
        return Objects.requireNonNull(spec);
    }
}
