package dev.palisade.incidents;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;

/**
 * What a careful user writes with Lettuce: the lock and the rise of its token in one script, release by whoever holds it,
 * a timeout on every command; everything else as Lettuce has it by default.
 */
final class NaiveIssuer implements TokenIssuer {
    private static final String ACQUIRE =
            "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end"
                    + " return nil";
    private static final String RELEASE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private static final String TTL_MILLIS = "500";

    private final RedisLine line;

    NaiveIssuer(Addresses addresses, Node first) {
        line = new RedisLine(addresses, first, true);
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
            Long token = open.commands()
                    .eval(ACQUIRE, ScriptOutputType.INTEGER, new String[] {lock, "token:" + lock}, owner, TTL_MILLIS);
            return token == null ? Answer.HELD : new Answer.Taken(token, open.node());
        } catch (RedisCommandExecutionException e) {
            return new Answer.Refused(e.toString());
        } catch (RedisException e) {
            return new Answer.Unknown(e.toString());
        }
    }

    @Override
    public void release(String lock, String owner) {
        try {
            line.open().commands().eval(RELEASE, ScriptOutputType.INTEGER, new String[] {lock}, owner);
        } catch (RedisException e) {
            // It ends with its time.
        }
    }

    @Override
    public void follow(Node primary) {
        line.follow(primary);
    }

    @Override
    public String counter(String lock) {
        return lock;
    }

    @Override
    public void close() {
        line.close();
    }
}
