package dev.palisade.incidents;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.ScriptOutputType;

/**
 * Careful hand-written lock with Lettuce as token issuer: lock and token increment in one script, release by the owner
 * only, a timeout on every command, and Lettuce's defaults otherwise.
 */
final class NaiveIssuer implements TokenIssuer {
    private static final String ACQUIRE =
            "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end"
                    + " return nil";
    private static final String RELEASE =
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    private static final String TTL_MILLIS = "500";

    private final LettuceConnection connection;

    NaiveIssuer(Addresses addresses, Node first) {
        connection = new LettuceConnection(addresses, first, true);
    }

    @Override
    public AttemptOutcome acquire(String lock, String owner) {
        LettuceConnection.Open open;
        try {
            open = connection.open();
        } catch (RedisException e) {
            return new AttemptOutcome.Refused(e.toString());
        }
        try {
            Long token = open.commands()
                    .eval(ACQUIRE, ScriptOutputType.INTEGER, new String[] {lock, "token:" + lock}, owner, TTL_MILLIS);
            return token == null ? AttemptOutcome.HELD : new AttemptOutcome.Taken(token, open.node());
        } catch (RedisCommandExecutionException e) {
            return new AttemptOutcome.Refused(e.toString());
        } catch (RedisException e) {
            return new AttemptOutcome.Unknown(e.toString());
        }
    }

    @Override
    public void release(String lock, String owner) {
        try {
            connection.open().commands().eval(RELEASE, ScriptOutputType.INTEGER, new String[] {lock}, owner);
        } catch (RedisException e) {
            // The lock expires.
        }
    }

    @Override
    public void follow(Node primary) {
        connection.follow(primary);
    }

    @Override
    public String counter(String lock) {
        return lock;
    }

    @Override
    public void close() {
        connection.close();
    }
}
