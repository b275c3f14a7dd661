package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.cli.Version;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code palisade keys}: rotates the keys that sign sequencers, without a restart and without a refused call. */
@Command(
        name = "keys",
        description = {
            "Rotates the keys that sign sequencers. Lock servers and guards take up a changed file within a second.",
            "",
            "  palisade keys add            a new key that verifies; copy the file to every guard",
            "  palisade keys promote ID     the key that signs from now on",
            "  palisade keys retire ID      forget a key, once the longest lease it signed has ended",
            "",
        },
        mixinStandardHelpOptions = true,
        versionProvider = Version.class,
        usageHelpAutoWidth = true)
final class KeysCommand implements Callable<Integer> {
    enum Verb {
        list,
        add,
        promote,
        retire
    }

    @Parameters(index = "0", paramLabel = "list|add|promote|retire", description = "What to do.")
    Verb verb = Verb.list;

    @Parameters(index = "1", arity = "0..1", paramLabel = "ID", description = "The key, as list shows it.")
    @Nullable
    String id;

    @Option(
            names = "--keyset",
            paramLabel = "FILE",
            description = "Default: $PALISADE_HOME/keys/sequencers.json, or ~/.palisade/keys/sequencers.json")
    Path keyset = Defaults.keyset();

    @Override
    public Integer call() throws CannotStart {
        try {
            KeysetFile file = KeysetFile.open(keyset);
            switch (verb) {
                case list -> {}
                case add -> change(file, SequencerKeys::withNewKey);
                case promote -> change(file, keys -> keys.promote(keyId()));
                case retire -> change(file, keys -> keys.retire(keyId()));
            }
            file.keys().keys().forEach(System.out::println);
            return 0;
        } catch (IOException | IllegalArgumentException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    private static void change(KeysetFile file, UnaryOperator<SequencerKeys> change) throws IOException {
        file.replace(change.apply(file.keys()));
    }

    private int keyId() {
        if (id == null) {
            throw new IllegalArgumentException(verb + " needs the ID of a key; see: palisade keys list");
        }
        try {
            return Integer.parseUnsignedInt(id);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("'" + id + "' is not a key ID; see: palisade keys list");
        }
    }
}
