package dev.palisade.guard.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The closed list of commands that a {@link CommandList} may have, with what is known of each: {@code commands.txt}. */
final class CommandTable {
    private static final Map<String, Entry> ENTRIES = FenceScript.resource("commands.txt")
            .lines()
            .filter(line -> !line.startsWith("#"))
            .map(Entry::parse)
            .collect(Collectors.toUnmodifiableMap(Entry::name, entry -> entry));

    private CommandTable() {}

    /**
     * One command, as COMMAND INFO describes it.
     *
     * @param arity the number of words, the name included; negative: at least so many
     * @param firstKey place of the first key; the name is at 0
     * @param lastKey place of the last key; -1: the last word
     * @param step from one key to the next
     * @param reads whether it changes nothing
     * @param type that all its keys must have if they exist; empty: any
     */
    record Entry(String name, int arity, int firstKey, int lastKey, int step, boolean reads, Optional<String> type) {
        private static Entry parse(String line) {
            String[] words = line.split(" ", -1);
            return new Entry(
                    words[0],
                    Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]),
                    Integer.parseInt(words[3]),
                    Integer.parseInt(words[4]),
                    words[5].equals("read"),
                    Optional.of(words[6]).filter(type -> !type.equals("any")));
        }

        /** Whether a command of so many words is complete. */
        boolean takes(int words) {
            boolean enough = arity < 0 ? words >= -arity : words == arity;
            // COMMAND INFO does not tell that these come in pairs.
            boolean paired = words % 2 == 0 || !(name.equals("HSET") || name.equals("HMSET"));
            return enough && paired && (lastKey != -1 || (words - firstKey) % step == 0);
        }

        List<byte[]> keys(List<byte[]> words) {
            List<byte[]> keys = new ArrayList<>();
            int last = lastKey < 0 ? words.size() + lastKey : lastKey;
            for (int i = firstKey; i <= last; i += step) {
                keys.add(words.get(i));
            }
            return keys;
        }
    }

    static Optional<Entry> find(String name) {
        return Optional.ofNullable(ENTRIES.get(name.toUpperCase(Locale.ROOT)));
    }

    static List<Entry> all() {
        return List.copyOf(ENTRIES.values());
    }
}
