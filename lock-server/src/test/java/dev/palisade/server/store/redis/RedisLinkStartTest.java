package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is refused at a start: always in one line, which names the server, says why and what to do, and tells no password. */
class RedisLinkStartTest {
    @Test
    void aServerThatIsNotThere() {
        RedisProcess redis = RedisProcess.start();
        redis.close();

        refused(redis.uri(), "Redis 127.0.0.1:PORT cannot be reached (connection refused)", redis.port());
    }

    @Test
    void aHostThatDoesNotExist() {
        refused(
                "redis://no.such.host.invalid:6379",
                "Redis no.such.host.invalid:6379 cannot be reached (no such host)",
                0);
    }

    @Test
    void aServerThatDoesNotAnswer() {
        try (RedisProcess redis = RedisProcess.start()) {
            redis.freeze();
            refused(redis.uri(), "Redis 127.0.0.1:PORT cannot be reached (no answer within 5 s)", redis.port());
        }
    }

    @Test
    void aWrongPasswordNoneAndOneTooMany() throws Exception {
        try (RedisProcess redis = RedisProcess.start("user pali on >topsecret ~* &* +@all")) {
            redis.ask("CONFIG", "SET", "requirepass", "other");
            refused(
                    "redis://pali:wrongsecret@127.0.0.1:" + redis.port(),
                    "Redis 127.0.0.1:PORT does not take this user and password; see its ACL (WRONGPASS ",
                    redis.port());
            refused(
                    redis.uri(),
                    "Redis 127.0.0.1:PORT asks for a password; put it into the URI, as redis://USER:PASSWORD@HOST (NOAUTH ",
                    redis.port());
            Linked.open("redis://pali:topsecret@127.0.0.1:" + redis.port()).close();
            Linked.open("redis://:other@127.0.0.1:" + redis.port()).close();
        }
        try (RedisProcess open = RedisProcess.start()) {
            refused(
                    "redis://:topsecret@127.0.0.1:" + open.port(),
                    "Redis 127.0.0.1:PORT has no password; take it out of the URI (ERR AUTH ",
                    open.port());
        }
    }

    @ParameterizedTest
    @CsvSource({"info", "fcall", "function|load"})
    void aUserWithoutARightThatIsNeeded(String right) {
        try (RedisProcess redis = RedisProcess.start("user pali on >topsecret ~* &* +@all -" + right)) {
            refused(
                    "redis://pali:topsecret@127.0.0.1:" + redis.port(),
                    "Redis 127.0.0.1:PORT refuses a right that this user needs; see its ACL (NOPERM ",
                    redis.port(),
                    "'" + right + "'");
        }
    }

    /** As docs/guides/operate.md says, and what the functions call. */
    @Test
    void theRightsOfTheGuideAreEnough() throws Exception {
        try (RedisProcess redis =
                        RedisProcess.start("user pali on >topsecret ~* &* -@all +info +fcall +function|load +incrby");
                RedisLink link = Linked.open("redis://pali:topsecret@127.0.0.1:" + redis.port())) {
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
            assertThat(LinkState.of(link).lastFailure()).isEmpty();
        }
    }

    @Test
    void aReplica() {
        try (RedisProcess primary = RedisProcess.start();
                RedisProcess replica = new RedisSetup().replicaOf(primary).start()) {
            refused(
                    replica.uri(),
                    "Redis 127.0.0.1:PORT is a replica of 127.0.0.1:" + primary.port()
                            + "; name the primary, or use redis-sentinel://",
                    replica.port());
        }
    }

    @ParameterizedTest
    @CsvSource({"allkeys-lru", "volatile-ttl"})
    void aServerThatRemovesLocksWhenMemoryIsShort(String policy) {
        try (RedisProcess redis = RedisProcess.start("maxmemory-policy " + policy)) {
            refused(
                    redis.uri(),
                    "Redis 127.0.0.1:PORT has maxmemory-policy " + policy
                            + ", which removes locks when memory is short; set noeviction",
                    redis.port());
        }
    }

    @Test
    void aClusterAsOneServerAndOneServerAsACluster() {
        try (RedisProcess node = RedisProcess.start("cluster-enabled yes");
                RedisProcess single = RedisProcess.start()) {
            refused(node.uri(), "Redis 127.0.0.1:PORT is a node of a cluster; use redis-cluster://", node.port());
            refused(
                    "redis-cluster://127.0.0.1:" + single.port(),
                    "Redis 127.0.0.1:PORT is no node of a cluster; use redis://",
                    single.port());
            refused(
                    "redis-cluster://127.0.0.1:" + node.port(),
                    "Redis 127.0.0.1:PORT says that no node serves slot 0; see CLUSTER INFO",
                    node.port());
        }
    }

    @Test
    void aSentinelThatDoesNotKnowThePrimary() {
        try (RedisProcess primary = RedisProcess.start();
                RedisProcess sentinel =
                        new RedisSetup().sentinel("main", primary, 1).start()) {
            refused(
                    "redis-sentinel://127.0.0.1:" + sentinel.port() + "#mian",
                    "Sentinel 127.0.0.1:PORT knows no primary named mian; name it as in its 'sentinel monitor NAME'",
                    sentinel.port());
            sentinel.kill9();
            refused(
                    "redis-sentinel://127.0.0.1:" + sentinel.port() + "#main",
                    "Sentinel 127.0.0.1:PORT cannot be reached (connection refused)",
                    sentinel.port());
        }
    }

    @Test
    void aVersionWithoutFunctions() throws Exception {
        try (Pretender old = new Pretender("redis_version:6.2.14\r\nrole:master\r\nmaster_replid:abc\r\n")) {
            refused(
                    old.uri(),
                    "Redis 127.0.0.1:PORT has version 6.2.14, which has no functions; use Redis 7.0 or Valkey, or newer",
                    old.port());
        }
    }

    @Test
    void reasonBehindAClosedGreetingIsAskedForAgain() throws Exception {
        try (Pretender old = new Pretender("redis_version:6.2.14\r\nrole:master\r\nmaster_replid:abc\r\n", 1)) {
            refused(old.uri(), "Redis 127.0.0.1:PORT has version 6.2.14", old.port());
        }
        try (Pretender closing = new Pretender("", 2)) {
            refused(closing.uri(), "Redis 127.0.0.1:PORT cannot be reached (", closing.port());
        }
    }

    @Test
    void aServerThatHidesItsReplicationId() throws Exception {
        try (Pretender hiding =
                new Pretender("redis_version:7.2.0\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n")) {
            refused(
                    hiding.uri(),
                    "Redis 127.0.0.1:PORT does not tell its master_replid in INFO replication",
                    hiding.port());
        }
    }

    @Test
    void aServerThatIsLoading() throws Exception {
        try (Pretender loading =
                new Pretender("redis_version:7.2.0\r\nrole:master\r\nmaster_replid:abc\r\nloading:1\r\n")) {
            refused(loading.uri(), "Redis 127.0.0.1:PORT is loading its data; wait until it has", loading.port());
        }
    }

    @Test
    void functionsOfAnotherLibrary() {
        try (RedisProcess redis = RedisProcess.start()) {
            redis.ask("FUNCTION", "LOAD", "#!lua name=linktest\nredis.register_function('f', function() return 1 end)");
            refused(
                    redis.uri(),
                    "Redis 127.0.0.1:PORT has functions of another library named linktest (ERR Library 'linktest' already exists); "
                            + "FUNCTION DELETE it, or use another Redis",
                    redis.port());
        }
    }

    @Test
    void aCertificateFileThatCannotBeRead() {
        refused(
                "rediss://127.0.0.1:1?ca=/nowhere/ca.pem",
                "certificate file /nowhere/ca.pem cannot be read; name a PEM file in ca=",
                0);
    }

    private static void refused(String uri, String line, int port, String... also) {
        assertThatThrownBy(() -> Linked.open(uri).close())
                .isInstanceOf(StoreUnusable.class)
                .message()
                .startsWith(line.replace("PORT", String.valueOf(port)))
                .satisfies(message -> assertThat(List.of(also)).allMatch(message::contains))
                .doesNotContain("secret", "\n");
        Linked.awaitNoThread();
    }

    /** Greets as a Redis would and answers every INFO with the same text. */
    private static final class Pretender implements AutoCloseable {
        private final ServerSocket listening = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        private final String info;

        private int hangUps;

        Pretender(String info) throws IOException {
            this(info, 0);
        }

        /** @param hangUps how many connections are closed first, during their greeting */
        Pretender(String info, int hangUps) throws IOException {
            this.info = info;
            this.hangUps = hangUps;
            Thread thread = new Thread(this::serve, "pretender");
            thread.setDaemon(true);
            thread.start();
        }

        int port() {
            return listening.getLocalPort();
        }

        String uri() {
            return "redis://127.0.0.1:" + port();
        }

        private void serve() {
            byte[] buffer = new byte[4096];
            for (; hangUps > 0; hangUps--) {
                try (Socket client = listening.accept()) {
                    var unused = client.getInputStream().read(buffer);
                } catch (IOException e) {
                    return; // Closed.
                }
            }
            try (Socket client = listening.accept()) {
                InputStream in = client.getInputStream();
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    String asked = new String(buffer, 0, n, StandardCharsets.US_ASCII);
                    String answer = asked.contains("INFO") ? "$" + info.length() + "\r\n" + info + "\r\n" : "+PONG\r\n";
                    client.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                }
            } catch (IOException e) {
                // Closed.
            }
        }

        @Override
        public void close() throws IOException {
            listening.close();
        }
    }
}
