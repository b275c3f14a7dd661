package dev.palisade.incidents;

import dev.palisade.contract.cli.Commands;

/** {@code palisade incidents}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-incidents.xml");
        }
        Commands.quietTransport();
        System.exit(Commands.run(new IncidentsCommand(), args));
    }
}
