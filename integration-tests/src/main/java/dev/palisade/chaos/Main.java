package dev.palisade.chaos;

import dev.palisade.contract.cli.Commands;

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

    /** The libraries under test log every failure that {@code chaos redis} injects. */
    private static String logging(String... args) {
        return args.length > 0 && args[0].equals("redis") ? "logback-incidents.xml" : "logback-demo.xml";
    }
}
