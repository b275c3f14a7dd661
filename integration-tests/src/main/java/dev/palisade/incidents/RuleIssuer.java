package dev.palisade.incidents;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Tokens by a {@link Rule}, without locks: every call mints. It does what the rule asks of its caller: it remembers the highest token it
 * knows, and on SUSPECT_PRIMARY reads the topology anew and asks again there. It sends nothing twice.
 */
final class RuleIssuer implements TokenIssuer {
    private static final String COUNTER = "{incidents}:token";

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
        try {
            Answer answer = mint(false);
            if (answer instanceof Answer.Refused refused && refused.why().equals("SUSPECT_PRIMARY")) {
                return topology.reading(primary -> {
                    line.follow(primary);
                    return mint(true);
                });
            }
            return answer;
        } catch (RedisException e) {
            line.drop();
            return new Answer.Unknown(e.toString());
        }
    }

    private Answer mint(boolean confirmed) {
        RedisLine.Open open;
        try {
            open = line.open();
        } catch (RedisException e) {
            return new Answer.Refused(e.toString());
        }
        List<String> reply;
        try {
            reply = call(open, confirmed);
        } catch (RedisCommandExecutionException e) {
            if (!String.valueOf(e.getMessage()).contains("Function not found")) {
                line.drop();
                return new Answer.Refused(e.toString());
            }
            reply = loadAndCall(open, confirmed);
        }
        if (reply.size() == 1) {
            return new Answer.Refused(reply.get(0));
        }
        long token = Long.parseLong(reply.get(0));
        learn(token);
        return new Answer.Taken(token, reply.get(1), open.node());
    }

    private List<String> loadAndCall(RedisLine.Open open, boolean confirmed) {
        try {
            open.commands().functionLoad(rule.code());
        } catch (RedisCommandExecutionException e) {
            // Another has, or it is a replica; the call will tell.
        }
        try {
            return call(open, confirmed);
        } catch (RedisCommandExecutionException e) {
            line.drop();
            return List.of(e.toString());
        }
    }

    private List<String> call(RedisLine.Open open, boolean confirmed) {
        return open.commands()
                .fcall(
                        "incident_mint",
                        ScriptOutputType.MULTI,
                        new String[] {COUNTER},
                        Long.toString(floor.get()),
                        confirmed ? "1" : "0");
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
        return COUNTER;
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
