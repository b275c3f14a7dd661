package dev.palisade.contract.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.IVersionProvider;

/** The release that was built, for {@code --version} and the session's welcome. */
public final class Version implements IVersionProvider {
    private static final String TEXT = read();

    /** Such as {@code 0.1.0}. */
    public static String text() {
        return TEXT;
    }

    @Override
    public String[] getVersion() {
        return new String[] {"palisade " + TEXT};
    }

    private static String read() {
        try (InputStream resource = Version.class.getResourceAsStream("version.txt")) {
            if (resource == null) {
                throw new IllegalStateException("the jar lacks version.txt");
            }
            return new String(resource.readAllBytes(), StandardCharsets.UTF_8).trim();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
