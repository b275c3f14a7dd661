package dev.palisade.steps;

import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import javax.tools.ToolProvider;

/** Planted bugs: one source file of the guard with a text replaced, compiled before each gateway's own classes. */
enum Mutant {
    /** Any other gateway ends the entries of one whose lease is over, however long &#916; is, and without being allowed to. */
    ENTRY_ENDS_BY_TIME("SharedRegister", """
            if (silentMillis < other.leaseMillis() + deltaMillis) { => if (silentMillis < other.leaseMillis()) {
            if (!self.takesOver()) { => if (self.owner().isEmpty()) {
            """),

    /** A guard compares with the mark that it has raised itself. */
    CACHED_MARK("RegisterTables", """
            MarkRow row = selectMark(resource); => MarkRow row = CACHE.getOrDefault(resource, selectMark(resource));
            Mark mark = stored.mark(); => Mark mark = stored.mark(); CACHE.put(stored.resource(), new MarkRow(stored, epoch));
            private final int seconds; => private final int seconds; private static final Map<String, MarkRow> CACHE = new HashMap<>();
            """),

    /** The comparison is committed before the call is registered. */
    TWO_STEPS("RegisterTables", """
            "INSERT INTO palisade_register_calls (guard, => commit() + "INSERT INTO palisade_register_calls (guard,
            void create() throws => private String commit() throws SQLException { connection.commit(); return ""; } void create() throws
            """),

    /** A call that has to wait is sent to the service, and compared again afterwards. */
    SENT_BEFORE_SECOND_COMPARE("SharedGate", """
            blocked(call, blocked).forEach(this::stop); => blocked(call, blocked).forEach(this::stop); call.result().complete(call);
            """);

    private static final String GATEWAY = "resource-guard/gateway/target/palisade-gateway.jar";

    private final String file;
    private final String replacements;

    /** @param replacements a line for each: what is there, and what is to be there */
    Mutant(String file, String replacements) {
        this.file = file;
        this.replacements = replacements;
    }

    /** That many gateways as they are built. */
    static List<List<String>> none(int total) {
        return Collections.nCopies(total, Child.java("-jar", Installation.jar(GATEWAY)));
    }

    /** What starts a gateway with this bug. */
    List<String> command(Installation installation) {
        String jar = Installation.jar(GATEWAY);
        Path classes = installation.home().resolve(name().toLowerCase(Locale.ROOT));
        try {
            Path source = Files.createDirectories(classes).resolve(file + ".java");
            Files.writeString(source, patched(installation));
            int code = ToolProvider.getSystemJavaCompiler()
                    .run(
                            null,
                            null,
                            null,
                            "-nowarn",
                            "-proc:none",
                            "-cp",
                            jar,
                            "-d",
                            classes.toString(),
                            source.toString());
            if (code != 0) {
                throw new IllegalStateException(this + " does not compile");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Child.java("-cp", classes + System.getProperty("path.separator") + jar, "dev.palisade.gateway.Main");
    }

    private String patched(Installation installation) throws IOException {
        String text = Files.readString(
                installation.file("resource-guard/src/main/java/dev/palisade/guard/" + file + ".java"));
        for (String line : replacements.lines().toList()) {
            String[] words = line.split(" => ", -1);
            if (!text.contains(words[0])) {
                throw new IllegalStateException(this + ": " + file + " has changed; adapt the planted bug");
            }
            text = text.replace(words[0], words[1]);
        }
        return text;
    }
}
