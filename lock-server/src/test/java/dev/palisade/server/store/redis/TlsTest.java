package dev.palisade.server.store.redis;

import static dev.palisade.server.store.redis.Linked.add;
import static dev.palisade.server.store.redis.Linked.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.palisade.redis.RedisProcess;
import dev.palisade.redis.RedisSetup;
import dev.palisade.server.store.StoreUnusable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encrypted connections, with certificates that the JDK's keytool makes. */
class TlsTest {
    private static final String PASSWORD = "changeit";

    @TempDir
    static Path dir;

    @Test
    void aCertificateThatTheNamedOneVouchesForIsTaken() throws Exception {
        try (RedisProcess redis = start("tls-auth-clients no");
                RedisLink link = Linked.open(uri(redis, "127.0.0.1") + "?ca=" + dir.resolve("redis.crt"))) {
            assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
        }
    }

    @Test
    void whatIsNotVouchedForIsRefused() throws Exception {
        try (RedisProcess redis = start("tls-auth-clients no")) {
            String ca = "?ca=" + dir.resolve("redis.crt");
            refused(uri(redis, "127.0.0.1"), "cannot be reached (TLS: ");
            refused(uri(redis, "localhost") + ca, "cannot be reached (TLS: ");
            refused("redis://127.0.0.1:" + redis.port(), "; if it is a port of TLS, use rediss://");
        }
        try (RedisProcess plain = RedisProcess.start()) {
            refused(uri(plain, "127.0.0.1"), "; if it is a port without TLS, use redis://");
        }
    }

    @Test
    void aServerMayAskForOurCertificate() throws Exception {
        try (RedisProcess redis = start("tls-auth-clients yes")) {
            String ca = uri(redis, "127.0.0.1") + "?ca=" + dir.resolve("redis.crt");
            refused(ca, "cannot be reached (");
            try (RedisLink link =
                    Linked.open(ca + "&cert=" + dir.resolve("redis.crt") + "&key=" + dir.resolve("redis.key"))) {
                assertThat(get(add(link, "k"))).isEqualTo(List.of(1L));
            }
        }
    }

    private static void refused(String uri, String why) {
        assertThatThrownBy(() -> Linked.open(uri).close())
                .isInstanceOf(StoreUnusable.class)
                .message()
                .startsWith("Redis ")
                .contains(why)
                .doesNotContain("\n");
    }

    private static String uri(RedisProcess redis, String host) {
        return "rediss://" + host + ":" + redis.port();
    }

    private static RedisProcess start(String line) {
        try {
            return new RedisSetup()
                    .config(
                            "tls-port 0",
                            "tls-cert-file " + dir.resolve("redis.crt"),
                            "tls-key-file " + dir.resolve("redis.key"),
                            "tls-ca-cert-file " + dir.resolve("redis.crt"),
                            line)
                    .start();
        } catch (IllegalStateException e) {
            assumeFalse(
                    String.valueOf(e.getMessage()).contains("Bad directive"), "this redis-server is built without TLS");
            throw e;
        }
    }

    /** For 127.0.0.1, and no name. */
    @BeforeAll
    static void makeCertificate() throws Exception {
        Path store = dir.resolve("store.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-keystore",
                        store.toString(),
                        "-storepass",
                        PASSWORD,
                        "-alias",
                        "redis",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=Redis for tests",
                        "-ext",
                        "san=ip:127.0.0.1")
                .inheritIO()
                .start();
        assertThat(keytool.waitFor()).isZero();
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        write("redis.crt", "CERTIFICATE", keys.getCertificate("redis").getEncoded());
        write(
                "redis.key",
                "PRIVATE KEY",
                keys.getKey("redis", PASSWORD.toCharArray()).getEncoded());
    }

    private static void write(String name, String kind, byte[] content) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        Files.writeString(
                dir.resolve(name), "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
    }
}
