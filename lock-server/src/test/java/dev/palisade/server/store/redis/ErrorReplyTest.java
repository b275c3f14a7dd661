package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.store.redis.ErrorReply.Fate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a call's end is by the error that Redis answered. Which Redis gives which error is tried in the tests of the link. */
class ErrorReplyTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "READONLY You can't write against a read only replica. | LEFT",
                "READONLY You can't write against a read only replica. script: f, on @user_function:3. | LEFT",
                "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'. | LEFT",
                "LOADING Redis is loading the dataset in memory | LEFT",
                "NOAUTH Authentication required. | LEFT",
                "MOVED 3999 127.0.0.1:6381 | LEFT",
                "ASK 3999 127.0.0.1:6381 | REFUSED",
                "TRYAGAIN Multiple keys request during rehashing of slot | REFUSED",
                "CLUSTERDOWN Hash slot not served | REFUSED",
                "CROSSSLOT Keys in request don't hash to the same slot | REFUSED",
                "OOM command not allowed when used memory > 'maxmemory'. | REFUSED",
                "OOM command not allowed when used memory > 'maxmemory'. script: f, on @user_function:3. | REFUSED",
                "NOREPLICAS Not enough good replicas to write. | REFUSED",
                "MISCONF Redis is configured to save RDB snapshots, but ... | REFUSED",
                "BUSY Redis is busy running a script. | REFUSED",
                "NOPERM this user has no permissions to run the 'fcall' command | REFUSED",
                "ERR Function not found | LOADED",
                "NOPERM The user executing the script can't run this command script: f, on @user_function:3. | UNKNOWN",
                "ERR Function not found script: f, on @user_function:3. | UNKNOWN",
                "WRONGTYPE Operation against a key script: f, on @user_function:3. | UNKNOWN",
                "ERR something that no version says yet | UNKNOWN",
                "NEWERROR of a later version | UNKNOWN",
            })
    void theFateOfACallFollowsFromTheError(String error, Fate fate) {
        assertThat(ErrorReply.of(error.strip()).fate()).isEqualTo(fate);
    }

    @Test
    void aLineNamesTheServerAndWhatItSaid() {
        assertThat(ErrorReply.OOM.line(new Address("10.0.0.1", 6379), "OOM command not allowed. "))
                .isEqualTo(
                        "Redis 10.0.0.1:6379 has no memory for writes; raise its maxmemory (OOM command not allowed.)");
    }
}
