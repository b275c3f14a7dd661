package dev.palisade.server;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.contract.cli.Defaults;
import dev.palisade.contract.cli.Version;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code palisade keys}: rotates the keys that sign sequencers, without a restart and without a refused call. */
@Command(
        name = "keys",
        description = {
            "Rotates the keys that sign sequencers. Lock servers and guards take up a changed file within a second.",
            "",
            "  palisade keys add            a new key that verifies; copy the file to all guards.",
            "                               Makes the file where there is none",
            "  palisade keys promote ID     the key that signs from now on",
            "  palisade keys retire ID      forget a key, once every lease taken before the",
            "                               promote is over: a renewed lease keeps the",
            "                               sequencer it was granted with",
            "  palisade keys export-public  print the public keys of Ed25519, which are all",
            "                               that a guard needs",
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
        retire,
        exportPublic;

        @Override
        public String toString() {
            return this == exportPublic ? "export-public" : name();
        }
    }

    @Parameters(index = "0", paramLabel = "list|add|promote|retire|export-public", description = "What to do.")
    Verb verb = Verb.list;

    @Parameters(index = "1", arity = "0..1", paramLabel = "ID", description = "The key, as list shows it.")
    @Nullable
    String id;

    @Option(
            names = "--keyset",
            paramLabel = "FILE",
            description = "Default: $PALISADE_HOME/keys/sequencers.json, or ~/.palisade/keys/sequencers.json")
    Path keyset = Defaults.keyset();

    @Option(
            names = "--algorithm",
            paramLabel = "hmac|ed25519",
            description =
                    "With add, where there is no file: hmac, which guards can sign with, too, or ed25519. Default: hmac")
    SequencerKeys.@Nullable Algorithm algorithm;

    @Spec
    @Nullable
    CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        boolean namesOne = verb == Verb.promote || verb == Verb.retire;
        if (namesOne == (id == null)) {
            throw misuse(namesOne ? verb + " needs the ID of a key, as list shows it" : verb + " takes no ID");
        }
        if (algorithm != null && verb != Verb.add) {
            throw misuse("--algorithm is for add");
        }
        try {
            if (verb == Verb.exportPublic) {
                System.out.println(
                        KeysetFile.openToSign(keyset).keys().publicKeys().toJson());
                return 0;
            }
            boolean isNew = verb == Verb.add && Files.notExists(keyset);
            KeysetFile file = open(isNew);
            switch (isNew ? Verb.list : verb) {
                case list, exportPublic -> {}
                case add -> change(file, SequencerKeys::withNewKey);
                case promote -> change(file, keys -> keys.promote(keyId()));
                case retire -> change(file, keys -> keys.retire(keyId()));
            }
            System.out.println("palisade keys: " + file.path());
            file.keys().keys().forEach(System.out::println);
            return 0;
        } catch (IOException | IllegalArgumentException e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    private KeysetFile open(boolean isNew) throws IOException {
        if (isNew) {
            return KeysetFile.openOrCreate(keyset, algorithm == null ? SequencerKeys.Algorithm.HMAC : algorithm);
        }
        KeysetFile file = KeysetFile.open(keyset);
        if (algorithm != null && file.keys().algorithm() != algorithm) {
            throw new IllegalArgumentException("keyset " + keyset + " has keys of "
                    + file.keys().algorithm().name().toLowerCase(Locale.ROOT)
                    + "; a keyset has keys of one algorithm, so name another file");
        }
        return file;
    }

    private static void change(KeysetFile file, UnaryOperator<SequencerKeys> change) throws IOException {
        file.replace(change.apply(file.keys()));
    }

    private int keyId() {
        try {
            return Integer.parseUnsignedInt(Objects.requireNonNull(id));
        } catch (NumberFormatException e) {
            throw misuse("'" + id + "' is not the ID of a key, as list shows it");
        }
    }

    private ParameterException misuse(String message) {
        return new ParameterException(Objects.requireNonNull(spec).commandLine(), message);
    }
}
