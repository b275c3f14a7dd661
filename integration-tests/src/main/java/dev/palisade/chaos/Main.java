package dev.palisade.chaos;

import dev.palisade.contract.cli.Commands;

/** {@code palisade chaos}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-demo.xml");
        }
        Commands.quietTransport();
        System.exit(Commands.run(new ChaosCommand(), args));
    }
}
