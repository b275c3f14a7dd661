package dev.palisade.cli.term;

import com.google.gson.JsonObject;
import dev.palisade.client.LockUnavailableException;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What the verbs share that ask one question: the service, the form of the answer, and what an answer that does not come means. */
public final class Asking {
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    @Mixin
    Service service = new Service();

    @Option(
            names = "--json",
            description = "Answer in JSON: an object in one line, and a line for each where there may be several.")
    boolean json;

    @Spec(Spec.Target.MIXEE)
    @Nullable
    CommandSpec spec;

    /** Whether the answer is for programs. */
    public boolean json() {
        return json;
    }

    /** Prints {@code object} in one line. */
    public void print(JsonObject object) {
        PrintStream out = System.out;
        out.println(Plain.json(object.toString()));
    }

    /**
     * Asks, and waits a few seconds for the answer. The client is not closed: the process ends after it, and the server sees that
     * sooner than a farewell would have been said.
     *
     * @throws CannotStart in one line, when no server could say or it refused
     */
    public <T> T ask(Function<PalisadeClient, T> question) throws CannotStart {
        try {
            return question.apply(service.client(PATIENCE).build());
        } catch (LockUnavailableException e) {
            throw new CannotStart(Plain.text(e.rejection().message()));
        } catch (RejectedException e) {
            String why = Plain.text(e.rejection().message());
            if (e.rejection().reason() == Reason.MALFORMED_REQUEST) {
                throw misuse(why);
            }
            throw new CannotStart(e.rejection().reason() + ": " + why);
        }
    }

    /** To be thrown: the command line cannot be used. */
    public ParameterException misuse(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
