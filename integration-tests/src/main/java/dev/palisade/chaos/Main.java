package dev.palisade.chaos;

import dev.palisade.contract.cli.Commands;
import java.util.Set;

/** {@code palisade chaos}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", logging(args));
        }
        Commands.quietTransport();
        System.exit(Commands.run(new ChaosCommand(), args));
    }

    /** Libraries log every failure that {@code chaos redis} and {@code chaos postgresql} inject. */
    private static String logging(String... args) {
        return args.length > 0 && Set.of("redis", "postgresql").contains(args[0])
                ? "logback-incidents.xml"
                : "logback-demo.xml";
    }
}
