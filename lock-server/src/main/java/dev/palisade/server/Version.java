package dev.palisade.server;

import java.util.Optional;
import picocli.CommandLine.IVersionProvider;

/** The release, as built into the jar. */
final class Version implements IVersionProvider {
    static String text() {
        return Optional.ofNullable(Version.class.getPackage().getImplementationVersion())
                .orElse("development");
    }

    @Override
    public String[] getVersion() {
        return new String[] {"palisade " + text()};
    }
}
