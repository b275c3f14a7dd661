package dev.palisade.seeded.contract.grpc;

import picocli.CommandLine;

/** Seeded violation. */
public final class KnowsPicocli {
    static String name(CommandLine line) {
        return line.getCommandName();
    }
}
