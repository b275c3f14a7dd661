package dev.palisade.bench;

import dev.palisade.contract.cli.Commands;

/** {@code palisade bench}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-demo.xml");
        }
        System.exit(Commands.run(new BenchCommand(), args));
    }
}
