package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.server.store.redis.StoreUri.Kind;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StoreUriTest {
    @Test
    void oneServer() {
        StoreUri uri = StoreUri.parse("redis://10.0.0.1");

        assertThat(uri.kind()).isEqualTo(Kind.STANDALONE);
        assertThat(uri.tls()).isFalse();
        assertThat(uri.addresses()).containsExactly(new Address("10.0.0.1", 6379));
        assertThat(uri.login().password()).isNull();
        assertThat(uri).hasToString("redis://10.0.0.1:6379");
    }

    @Test
    void userPasswordAndCertificates() {
        StoreUri uri =
                StoreUri.parse("rediss://pali:p%40ss+%C3%A6@redis.example:7000/0?ca=/etc/ca.pem&cert=c.pem&key=k.pem");

        assertThat(uri.tls()).isTrue();
        assertThat(uri.login()).isEqualTo(new StoreUri.Login("pali", "p@ss+æ"));
        assertThat(uri.file("ca")).contains(Path.of("/etc/ca.pem"));
        assertThat(uri.file("cert")).contains(Path.of("c.pem"));
        assertThat(uri.file("key")).contains(Path.of("k.pem"));
    }

    @Test
    void sentinels() {
        StoreUri uri = StoreUri.parse("redis-sentinel://:secret@s1,s2:26380,[::1]?sentinel-password=other#main");

        assertThat(uri.kind()).isEqualTo(Kind.SENTINEL);
        assertThat(uri.addresses())
                .containsExactly(new Address("s1", 26379), new Address("s2", 26380), new Address("::1", 26379));
        assertThat(uri.primaryName()).isEqualTo("main");
        assertThat(uri.login()).isEqualTo(new StoreUri.Login(null, "secret"));
        assertThat(uri.sentinelLogin()).isEqualTo(new StoreUri.Login(null, "other"));
        assertThat(uri).hasToString("redis-sentinel://s1:26379,s2:26380,[::1]:26379#main");
    }

    @Test
    void cluster() {
        StoreUri uri = StoreUri.parse("REDISS-CLUSTER://a:7000,b:7001");

        assertThat(uri.kind()).isEqualTo(Kind.CLUSTER);
        assertThat(uri.tls()).isTrue();
        assertThat(uri).hasToString("rediss-cluster://a:7000,b:7001");
    }

    @Test
    void noPasswordIsEverTold() {
        StoreUri uri = StoreUri.parse("redis-sentinel://me:topsecret@a?sentinel-password=topsecret#main");

        assertThat(uri + " " + uri.login() + " " + uri.sentinelLogin()).doesNotContain("topsecret");
        assertThat(new RedisLinkConfig(uri, Linked.TIMEOUT).toString()).doesNotContain("topsecret");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "localhost:6379 | is no URI of a store; use redis://HOST:PORT, rediss:// for TLS",
                "http://:topsecret@a | is no URI of a store",
                "redis:// | has a server that is none; use HOST or HOST:PORT",
                "redis://:topsecret | has a server",
                "redis://a:topsecret | has a server that is none",
                "redis://a:0 | has a port that is none; use 1 to 65535",
                "redis://a:65536 | has a port",
                "redis://a: | has a server",
                "redis://::1 | has a server that is none; use HOST or HOST:PORT, [HOST] for IPv6",
                "redis://a,b | names several servers; use redis-sentinel:// or redis-cluster://",
                "redis://:topsecret@a/1 | names a database other than 0",
                "redis://topsecret@a | has a user without a password; use USER:PASSWORD@ or :PASSWORD@",
                "redis://:topsecret%@a | has a '%' that begins no percent-encoded byte",
                "redis://:top#secret@a | has a '#' or '?' before an '@'; in a user or password write %23, %3F and %40",
                "redis-sentinel://:topsecret?@a#main | has a '#' or '?' before an '@'",
                "redis-sentinel://a | does not name the primary; add #NAME",
                "redis-cluster://a#main | has a '#', which only redis-sentinel:// takes",
                "redis://a?ca=x | names certificates without TLS; use rediss",
                "rediss://a?cert=x | needs cert= and key= together",
                "redis://a?password=topsecret | has an unknown parameter; use ca, cert, key, sentinel-user",
            })
    void whatCannotBeMeantIsRefusedWithoutThePassword(String text, String why) {
        assertThatThrownBy(() -> StoreUri.parse(text.strip()))
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .startsWith(why.strip())
                .doesNotContain("secret", "\n");
    }
}
