package dev.palisade.incidents;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tokens by a {@link Rule}, without locks: every call mints a barrier. It does what the rule asks of its caller and no more: it
 * remembers the highest token it knows, and on SUSPECT_PRIMARY reads the topology anew, puts the epoch in order there and asks again. It
 * sends nothing twice.
 */
final class RuleIssuer implements TokenIssuer {
    private static final String TAG = "incidents:{0}:";
    private static final String[] EPOCH_KEYS = {TAG + "token", TAG + "epoch"};
    private static final String[] MINT_KEYS = {
        TAG + "token", TAG + "lock:any", TAG + "due", TAG + "names", TAG + "history"
    };
    /** As lock.lua reads them: offer, waiters, holders, age, home. None counts for a barrier. */
    private static final String SETTINGS = "2000 1000 1000 30000 incidents";

    private static final Answer.Refused SUSPECT = new Answer.Refused("SUSPECT_PRIMARY");

    private final Rule rule;
    private final Topology topology;
    private final RedisLine line;
    private final AtomicLong floor = new AtomicLong();

    RuleIssuer(Rule rule, Topology topology, Addresses addresses) {
        this.rule = rule;
        this.topology = topology;
        this.line = new RedisLine(addresses, topology.primary(), false);
    }

    @Override
    public Answer acquire(String lock, String owner) {
        RedisLine.Open open;
        try {
            open = line.open();
        } catch (RedisException e) {
            return new Answer.Refused(e.toString());
        }
        try {
            Answer answer = mint(open);
            if (answer.equals(SUSPECT)) {
                // Not confirmed: a rule that begins an epoch for that is wrong.
                answer = epoch(open, false) ? mint(open) : confirmed();
            }
            return answer;
        } catch (RedisCommandExecutionException e) {
            line.drop();
            return new Answer.Refused(e.toString());
        } catch (RedisException e) {
            line.drop();
            return new Answer.Unknown(e.toString());
        }
    }

    private Answer confirmed() {
        return topology.reading(primary -> {
            line.follow(primary);
            RedisLine.Open open = line.open();
            return epoch(open, true) ? mint(open) : SUSPECT;
        });
    }

    private Answer mint(RedisLine.Open open) {
        List<Object> reply = call(open, "palisade_barrier", MINT_KEYS, SETTINGS, Long.toString(floor.get()));
        if (reply.get(0) instanceof List<?> answer && answer.get(0).equals("Raised")) {
            long token = (Long) answer.get(1);
            learn(token);
            return new Answer.Taken(token, open.node());
        }
        return "SUSPECT_PRIMARY".equals(reply.get(0)) ? SUSPECT : new Answer.Refused(reply.toString());
    }

    /** Returns whether the domain has an epoch now. */
    private boolean epoch(RedisLine.Open open, boolean confirmed) {
        List<Object> reply = call(
                open,
                "palisade_epoch",
                EPOCH_KEYS,
                Long.toString(floor.get()),
                confirmed ? "1" : "0",
                "0",
                Long.toString(System.currentTimeMillis() + Duration.ofDays(1).toMillis()),
                Integer.toString(ThreadLocalRandom.current().nextInt(4_096)),
                "0");
        return reply.get(0).equals("epoch");
    }

    private List<Object> call(RedisLine.Open open, String function, String[] keys, String... args) {
        RedisCommands<String, String> commands = open.commands();
        try {
            return commands.fcall(function, ScriptOutputType.MULTI, keys, args);
        } catch (RedisCommandExecutionException e) {
            if (!String.valueOf(e.getMessage()).contains("Function not found")) {
                throw e;
            }
        }
        try {
            commands.functionLoad(rule.code());
        } catch (RedisCommandExecutionException e) {
            if (!String.valueOf(e.getMessage()).contains("already exists")) {
                throw e;
            }
        }
        return commands.fcall(function, ScriptOutputType.MULTI, keys, args);
    }

    @Override
    public void release(String lock, String owner) {
        // Nothing was locked.
    }

    @Override
    public void follow(Node primary) {
        line.follow(primary);
    }

    @Override
    public String counter(String lock) {
        return EPOCH_KEYS[0];
    }

    @Override
    public void learn(long token) {
        floor.accumulateAndGet(token, Math::max);
    }

    @Override
    public void close() {
        line.close();
    }
}
