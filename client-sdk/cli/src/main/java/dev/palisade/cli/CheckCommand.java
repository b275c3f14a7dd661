package dev.palisade.cli;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.CheckSequencerRequest;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code palisade check}: whether a lease is alive. */
@Command(
        name = "check",
        description = {
            "Checks whether a sequencer belongs to a lease that is alive now: exit code 0, else 1. This is not a fence: the "
                    + "lease may end right afterwards."
        },
        footer = {"", "Example, in a command of palisade run:", "  palisade check && ./next-step.sh"},
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class CheckCommand implements Callable<Integer> {
    static final String VARIABLE = "PALISADE_SEQUENCER";

    @Parameters(index = "0", arity = "0..1", paramLabel = "SEQUENCER", description = "Default: $PALISADE_SEQUENCER")
    @Nullable
    String sequencer;

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        String text = sequencer == null ? System.getenv(VARIABLE) : sequencer;
        if (text == null || text.isEmpty()) {
            throw server.usageError(
                    "no SEQUENCER, and $" + VARIABLE + " is not set; palisade run and palisade acquire provide one");
        }
        CheckSequencerRequest request = CheckSequencerRequest.newBuilder()
                .setSequencer(ByteString.copyFrom(server.sequencer(text).toBytes()))
                .build();
        boolean alive = server.with(
                servers -> servers.call(stub -> stub.checkSequencer(request)).getAlive());
        if (server.json()) {
            JsonObject json = new JsonObject();
            json.addProperty("alive", alive);
            server.print(json);
        } else {
            System.out.println(alive ? "alive" : "not alive");
        }
        return alive ? ExitCodes.OK : ExitCodes.NO;
    }
}
