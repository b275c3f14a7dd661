package dev.palisade.faults;

import dev.palisade.check.Marks.Mark;
import dev.palisade.redis.RedisProcess;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Register in a Redis of its own; rows are read as the guard writes them, in lines. */
final class GatewayRegisterInRedis implements GatewayRegister {
    private static final String KEY = "palisade:register:{counters}";
    private static final String ROW = "row:";

    private final RedisProcess redis = RedisProcess.start("appendonly yes", "appendfsync always");

    @Override
    public String yaml() {
        return "redis: " + redis.uri() + "\n  name: counters";
    }

    private Stream<String> fields(String prefix) {
        return redis.ask("HKEYS", KEY).lines().filter(field -> field.startsWith(prefix));
    }

    private List<String> row(String field) {
        return redis.ask("HGET", KEY, field).lines().toList();
    }

    @Override
    public Map<String, Mark> marks() {
        Map<String, Mark> marks = new HashMap<>();
        fields(ROW).forEach(field -> {
            List<String> lines = row(field);
            String[] words = lines.get(1).split(" ", -1);
            if (!lines.get(3).isEmpty()) {
                marks.put(
                        field.substring(ROW.length()),
                        new Mark(
                                Long.parseLong(words[1]),
                                words[2].equals("-") ? "" : words[2],
                                Long.parseLong(words[3])));
            }
        });
        return marks;
    }

    @Override
    public long guards() {
        return fields("guard:").count();
    }

    /** The entry of a guard that was ended counts as ended, but may still be there. */
    @Override
    public long quarantined() {
        List<String> guards = fields("guard:")
                .map(field -> field.substring("guard:".length()))
                .toList();
        return fields(ROW)
                .flatMap(field -> row(field).stream().skip(4))
                .filter(call -> call.endsWith(" true") && guards.contains(call.split(" ", 2)[0]))
                .count();
    }

    @Override
    public void close() {
        redis.close();
    }
}
