package dev.palisade.guard.redis;

import static dev.palisade.guard.redis.FenceConnection.bytes;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A bounded list of Redis commands, to be run in order by {@link FencedRedis}. Takes the commands of Redis 7.0 that name their keys
 * at fixed places and change nothing but these keys. Others are refused as soon as they are added: those that wait (BLPOP), end or
 * begin something (MULTI, SUBSCRIBE), concern more than their keys (FLUSHALL, PUBLISH, EVAL), or name their keys elsewhere
 * (ZUNIONSTORE, XREAD). Immutable; sends nothing.
 */
public final class CommandList {
    /** Commands of one list. */
    public static final int COMMANDS_MAX = 128;

    /** Words of one list, the names of the commands included; keys and arguments of one script together. */
    public static final int WORDS_MAX = 4_000;

    /** Bytes of all words of one call: Redis does nothing else while it runs. */
    public static final int BYTES_MAX = 4 * 1024 * 1024;

    private record Command(CommandTable.Entry entry, List<byte[]> words) {
        List<byte[]> keys() {
            return entry.keys(words);
        }
    }

    private final List<Command> commands;

    private CommandList(List<Command> commands) {
        this.commands = List.copyOf(commands);
    }

    /**
     * A list of one command.
     *
     * @param command its name, in either case
     * @param arguments what follows the name: {@link String}, {@code byte[]} or integers
     * @throws IllegalArgumentException when it is not one that a list takes, has too few or too many arguments, or is too large
     */
    public static CommandList of(String command, Object... arguments) {
        return new CommandList(List.of()).then(command, arguments);
    }

    /**
     * This list and one more command.
     *
     * @throws IllegalArgumentException as {@link #of}, and past {@link #COMMANDS_MAX}
     */
    public CommandList then(String command, Object... arguments) {
        CommandTable.Entry entry = CommandTable.find(command)
                .orElseThrow(() -> new IllegalArgumentException("a guarded list takes no '" + command
                        + "': only commands of Redis 7.0 that name their keys at fixed places, do not wait, and concern"
                        + " these keys alone; use a script for what a script can do"));
        List<byte[]> words = new ArrayList<>(List.of(bytes(entry.name())));
        words.addAll(words(arguments));
        if (!entry.takes(words.size())) {
            throw new IllegalArgumentException(
                    "wrong number of arguments for '" + entry.name() + "': " + arguments.length);
        }
        List<Command> all = new ArrayList<>(commands);
        all.add(new Command(entry, List.copyOf(words)));
        if (all.size() > COMMANDS_MAX) {
            throw new IllegalArgumentException("a guarded list takes at most " + COMMANDS_MAX + " commands");
        }
        requireSize(all.stream().flatMap(each -> each.words().stream()).toList());
        return new CommandList(all);
    }

    /** How many commands it has. */
    public int size() {
        return commands.size();
    }

    /** @throws IllegalArgumentException when a command can write */
    void requireReadsOnly() {
        for (Command command : commands) {
            if (!command.entry().reads()) {
                throw new IllegalArgumentException("'" + command.entry().name()
                        + "' can write; nothing was sent: use FencedRedis.write, with an EXCLUSIVE grant");
            }
        }
    }

    /** Every key that a command names, once for each time. */
    List<byte[]> keys() {
        return commands.stream().flatMap(command -> command.keys().stream()).toList();
    }

    /** As {@code commands.lua} reads them. */
    List<byte[]> arguments() {
        List<byte[]> all = new ArrayList<>(List.of(bytes(Integer.toString(size()))));
        for (Command command : commands) {
            all.add(bytes(Integer.toString(command.words().size())));
            all.addAll(command.words());
        }
        // A key that an earlier command writes may have another type by then.
        Set<ByteBuffer> written = new HashSet<>();
        for (int i = 0; i < commands.size(); i++) {
            Command command = commands.get(i);
            for (byte[] key : command.keys()) {
                boolean known = command.entry().type().isPresent() && !written.contains(ByteBuffer.wrap(key));
                if (known) {
                    all.addAll(List.of(
                            bytes(Integer.toString(i + 1)),
                            key,
                            bytes(command.entry().type().get())));
                }
            }
            if (!command.entry().reads()) {
                command.keys().forEach(key -> written.add(ByteBuffer.wrap(key)));
            }
        }
        return all;
    }

    /** @throws IllegalArgumentException when a value is none that Redis takes */
    static List<byte[]> words(Object... values) {
        List<byte[]> words = new ArrayList<>();
        for (Object value : values) {
            words.add(word(value));
        }
        return words;
    }

    /** @throws IllegalArgumentException when the words of one call are too many or too large together */
    static void requireSize(List<byte[]> words) {
        long bytes = words.stream().mapToLong(word -> word.length).sum();
        if (words.size() > WORDS_MAX || bytes > BYTES_MAX) {
            throw new IllegalArgumentException("a guarded call takes at most " + WORDS_MAX + " words and " + BYTES_MAX
                    + " bytes, not " + words.size() + " and " + bytes);
        }
    }

    private static byte[] word(Object value) {
        if (value instanceof byte[] bytes) {
            return bytes.clone();
        }
        if (value instanceof String text) {
            return bytes(text);
        }
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return bytes(value.toString());
        }
        throw new IllegalArgumentException("an argument is a String, a byte[] or an integer, not "
                + (value == null ? "null" : value.getClass().getName()));
    }
}
