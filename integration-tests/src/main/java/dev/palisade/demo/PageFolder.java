package dev.palisade.demo;

import dev.palisade.contract.cli.Defaults;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Folder of the pages that demos leave: {@code target/demo} of the checkout; without a checkout that may be written to, {@code demo} in {@code $PALISADE_HOME} or
 * {@code ~/.palisade}; or else a new folder for temporary files. The checkout is first because browsers from snap packages open neither hidden folders of
 * the home directory nor {@code /tmp}.
 */
final class PageFolder {
    private PageFolder() {}

    /** The first of them that can be written to; it exists afterwards. */
    static Path find() throws IOException {
        return find(Path.of(System.getProperty(Installation.ROOT_PROPERTY, "")), Defaults.home());
    }

    static Path find(Path root, Path home) throws IOException {
        if (Files.exists(root.resolve("pom.xml"))) {
            Path below = root.toAbsolutePath().resolve("target").resolve("demo");
            if (canBeUsed(below)) {
                return below;
            }
        }
        Path own = home.toAbsolutePath().resolve("demo");
        return canBeUsed(own) ? own : Files.createTempDirectory("palisade-demo-");
    }

    private static boolean canBeUsed(Path folder) {
        try {
            return Files.isWritable(Files.createDirectories(folder));
        } catch (IOException e) {
            return false;
        }
    }
}
