package dev.palisade.cli;

import com.google.protobuf.ByteString;
import dev.palisade.cli.call.ServerCall;
import dev.palisade.cli.term.ExitCodes;
import dev.palisade.contract.cli.Commands.Failed;
import dev.palisade.contract.cli.Version;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade explain}: why calls with a token were refused. */
@Command(
        name = "explain",
        description = {
            "Explains why calls under a lock were refused: what ended the lease, which grant was next, which guard refused what, "
                    + "and what to do. Without --token it explains the token that guards refused last, else the newest grant. "
                    + "Of several lock servers all are asked: each knows the refusals that were reported to it."
        },
        footer = {
            "",
            "Examples:",
            "  palisade explain backup/db1",
            "  palisade explain backup/db1 --token 373282321453057",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class ExplainLockCommand implements Callable<Integer> {
    @Parameters(index = "0", paramLabel = "LOCK", description = "Name of the lock.")
    String name = "";

    @Option(
            names = "--token",
            paramLabel = "N",
            description = "Token of the refused call: presented_token in the error and in the guard's log")
    @Nullable
    Long token;

    @Option(
            names = "--sequencer",
            paramLabel = "S",
            description = "Sequencer of the refused call, as base64url. Whether it is genuine is checked first")
    @Nullable
    String sequencer;

    @Mixin
    ServerCall server = new ServerCall();

    @Override
    public Integer call() throws Failed {
        ExplainRequest.Builder request = ExplainRequest.newBuilder().setLock(server.lockName(name));
        Long named = token;
        String proof = sequencer;
        if (named != null && proof != null) {
            throw server.usageError("--token and --sequencer both name a grant; use one of them");
        }
        if (named != null) {
            if (named < 1) {
                throw server.usageError(
                        "--token is " + named + "; use a token as the error of the refused call has it");
            }
            request.setToken(named);
        }
        if (proof != null) {
            request.setSequencer(ByteString.copyFrom(server.sequencer(proof).toBytes()));
        }
        ExplainReply reply = server.with(servers -> MergedExplanation.of(servers, request.build()));
        if (server.json()) {
            server.print(ExplanationOutput.json(reply));
        } else {
            System.out.print(ExplanationOutput.shown(reply, proof != null));
        }
        return ExitCodes.OK;
    }
}
