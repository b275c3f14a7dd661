package dev.palisade.demo;

import dev.palisade.contract.cli.Commands;

/** The jar's entry: {@code palisade demo}. */
public final class Main {
    private Main() {}

    public static void main(String[] args) {
        if (System.getProperty("logback.configurationFile") == null) {
            System.setProperty("logback.configurationFile", "logback-demo.xml");
        }
        System.exit(Commands.run(new DemoCommand(), args));
    }
}
