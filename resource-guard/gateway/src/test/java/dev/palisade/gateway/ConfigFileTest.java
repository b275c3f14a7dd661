package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.contract.crypto.KeysetFile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Every default, key and refusal of a gateway's file. */
class ConfigFileTest {
    private static final String LEAST = """
            protects: items
            upstream:
              addresses: 127.0.0.1:8080
            routes:
              - path: /items/{id}
                lock: items/{id}
            """;

    private static final String HTTP2 = """
            protects: texts
            upstream:
              addresses: 127.0.0.1:8080
              protocol: http2
            """;

    @TempDir
    Path directory;

    private Path file(String text) throws IOException {
        return Files.writeString(directory.resolve("gateway.yaml"), text);
    }

    /** The mistakes without the path of the file. */
    private List<String> mistakes(String text) throws IOException {
        Path file = file(text);
        ConfigRefused refused = catchThrowableOfType(ConfigRefused.class, () -> ConfigFile.read(file.toString()));
        return refused.lines().stream()
                .map(line -> line.replace(file + ":", ""))
                .toList();
    }

    @Test
    void defaultsAreTheDocumentedOnes() throws Exception {
        GatewayConfig config = ConfigFile.read(file(LEAST).toString());
        assertThat(config.listen().getHostString()).isEqualTo("127.0.0.1");
        assertThat(config.listen().getPort()).isEqualTo(7620);
        assertThat(config.issuer()).isEqualTo("palisade");
        assertThat(config.keyset()).isAbsolute().endsWithRaw(Path.of("keys/sequencers.json"));
        assertThat(config.marks()).isAbsolute().endsWithRaw(Path.of("gateway/marks"));
        assertThat(config.lockServers()).containsExactly("127.0.0.1:7600");
        assertThat(config.lockWait()).isEqualTo(Duration.ofSeconds(5));
        assertThat(config.unknownOutcomeTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(config.drain()).isEqualTo(Duration.ofSeconds(10));
        assertThat(config.observeOnly()).isFalse();
        assertThat(config.passSequencer()).isFalse();
        assertThat(config.upstream().http2()).isFalse();
        assertThat(config.upstream().idleTimeout()).isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void everyMistakeHasItsLineAndAllAreToldAtOnce() throws Exception {
        assertThat(mistakes("""
                listen: 0.0.0.0:7620
                protects:
                isuer: palisade
                lock-servers: [127.0.0.1:7600, nowhere]
                lock-wait: soon
                lock-wait: 5s
                observe-only: yes
                upstream:
                  adresses: 127.0.0.1:8080
                  protocol: http3
                  idle-timeout: 31s
                routes:
                  - path: items/{id}
                    lock: items/{id}
                  - path: /items/{id}
                    methods: [GET, GTE]
                    lock: items/{key}
                  - path: /other/{id}
                    access: admin
                  - path: /free
                    access: unguarded
                    lock: free
                  - host: http://shop
                    path: /a/{rest*}/b
                    lock: a
                """))
                .containsExactly(
                        "1: listen 0.0.0.0:7620 would serve other machines and not verify them; use a loopback address,"
                                + " verify clients with client-ca below tls, or say insecure: true",
                        "1: unknown-outcome-timeout is shorter than the upstream's idle-timeout: a call that outlives the"
                                + " gateway could be applied after a newer one; make it at least as long",
                        "2: protects needs one value on its line",
                        "3: no key is called 'isuer'; did you mean issuer?",
                        "4: 'nowhere' of lock-servers is not host:port with a port of 1 to 65535; write"
                                + " 127.0.0.1:7600",
                        "5: lock-wait 'soon' is not a time; write 500ms, 10s, 5m or 24h",
                        "6: lock-wait is given twice; give it once",
                        "7: observe-only is 'yes'; use true or false",
                        "9: no key is called 'adresses'; did you mean addresses?",
                        "9: addresses is missing; write addresses: 127.0.0.1:8080",
                        "10: protocol is 'http3'; use http1 or http2",
                        "13: path 'items/{id}' does not begin with a slash; write /items/{id}",
                        "16: 'GTE' is no method a route can have; use GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS or"
                                + " TRACE",
                        "17: lock 'items/{key}': {key} is not in the path '/items/{id}'; use one of its names,"
                                + " {header.NAME}, {query.NAME} or {message.FIELD}",
                        "18: lock is missing; write lock: items/{id}",
                        "19: access is 'admin'; use read, write or unguarded, or leave it out: then GET and HEAD read,"
                                + " and every other method writes",
                        "22: an unguarded route has no lock; leave lock out, or access",
                        "23: host is 'http://shop'; write a name without scheme, port or asterisk",
                        "24: path '/a/{rest*}/b': {rest*} must be the last segment");
    }

    @Test
    void portOfListenThatIsNoneIsRefusedWithTheRange() throws Exception {
        assertThat(mistakes("listen: 127.0.0.1:99999\n" + LEAST))
                .containsExactly("1: listen is '127.0.0.1:99999'; write host:port with a port of 0 to 65535, such as"
                        + " 127.0.0.1:7620");
    }

    @Test
    void methodsOfGrpcAreListedAsPostAlone() throws Exception {
        GatewayConfig config = ConfigFile.read(file("""
                protects: items
                upstream:
                  addresses: a:1
                  protocol: http2
                routes:
                  - path: /shop.Orders/{method}
                    lock: a/{header.id}
                  - path: /shop.Reads/Get
                    lock: b
                    access: read
                  - path: /plain/{id}
                    lock: c
                    methods: [GET, PUT]
                """).toString());
        assertThat(RouteListing.lines(config.routes(), true))
                .extracting(line -> line.replaceAll(" +", " "))
                .containsExactly(
                        "LINE HOST PATH READS WRITES LOCK",
                        "6 any /shop.Orders/{method} - POST a/{header.id}",
                        "8 any /shop.Reads/Get POST - b",
                        "11 any /plain/{id} GET PUT c");
    }

    @Test
    void formerNameOfInsecureIsRefusedWithTheNewOne() throws Exception {
        assertThat(mistakes("allow-remote: true\n" + LEAST)).containsExactly("1: allow-remote is now called insecure");
    }

    @Test
    void mistakesOfTlsAndRegisterHaveTheirLines() throws Exception {
        assertThat(mistakes("""
                protects: items
                marks: marks
                observe-only: true
                tls: {cert: gateway.pem}
                lock-server-tls: yes
                register:
                  jdbc-url: jdbc:mariadb://db/palisade
                  lease: 1ms
                  takeover: true
                upstream:
                  addresses: 127.0.0.1:8443
                  tls:
                    cert: gateway.pem
                    client-ca: ca.pem
                routes:
                  - path: /items/{id}
                    lock: items/{id}
                """))
                .containsExactly(
                        "2: marks are in the register's database; leave marks out, or register",
                        "3: a gateway that only observes keeps marks of its own; leave observe-only out, or register",
                        "4: key is missing; write key: FILE, in PEM",
                        "5: this is no mapping; write KEY: VALUE, with the keys ca, cert, key",
                        "7: jdbc-url is not one of PostgreSQL; use jdbc:postgresql://HOST/DATABASE, or redis in its"
                                + " place",
                        "8: lease is 1ms; use 1s to 5m",
                        "9: no key is called 'takeover'; keys here are jdbc-url, lease, name,"
                                + " password-file, redis, take-over-after-lease, user",
                        "13: cert needs key too; write key: FILE",
                        "14: no key is called 'client-ca'; keys here are ca, cert, key");
        assertThat(mistakes(LEAST + "register: {jdbc-url: 'jdbc:postgresql://db/x?user=a&password=b'}\n"))
                .containsExactly("7: jdbc-url has a password; put it in a file, and name it with password-file");
    }

    @Test
    void aTokenIsNotSentToAnotherMachineInPlaintext() throws Exception {
        String token = "lock-server-token-file: token\n" + LEAST;
        assertThat(ConfigFile.read(file(token).toString()).lockServerToken()).isEqualTo(directory.resolve("token"));
        assertThat(mistakes("lock-servers: [127.0.0.1:7600, 192.0.2.1:7600]\n" + token))
                .containsExactly(
                        "2: the token would travel to 192.0.2.1:7600 in plaintext; call it with lock-server-tls");
        assertThat(ConfigFile.read(file("lock-servers: 192.0.2.1:7600\nlock-server-tls: {ca: ca.pem}\n" + token)
                                .toString())
                        .lockServerToken())
                .isNotNull();
    }

    @Test
    void registerInRedisIsNamedAsTheServiceUnlessItHasAName() throws Exception {
        RegisterConfig register = ConfigFile.read(
                        file(LEAST + "register: {redis: 'rediss://db:7000?ca=ca.pem', user: me, password-file: pw}\n")
                                .toString())
                .register();
        assertThat(register)
                .isEqualTo(new RegisterConfig(
                        "",
                        new RedisAddress(new HostPort("db", 7000), true, directory.resolve("ca.pem"), null, null),
                        "items",
                        "me",
                        directory.resolve("pw"),
                        Duration.ofSeconds(10),
                        false))
                .hasToString("rediss://db:7000, register 'items'");
        assertThat(ConfigFile.read(file(LEAST + "register: {redis: 'redis://[::1]', name: a/b}\n")
                                .toString())
                        .register())
                .hasToString("redis://[::1]:6379, register 'a/b'");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        localhost:6379                  | is no Redis URI; use redis://HOST:PORT, or rediss://HOST:PORT for TLS
        redis-sentinel://a,b#main       | names Sentinels; a failover can leave two primaries, which gateways do not notice: use redis://HOST:PORT of a Redis that nothing promotes by itself
        rediss-cluster://a,b            | names a cluster, but a register is in a single Redis; use redis://HOST:PORT
        redis://me:topsecret@a          | has a user or a password; put the password in a file, and name them with user and password-file
        redis://a:6379/1                | names a database other than 0; leave it out
        redis://a:topsecret             | has a server that is none; use HOST or HOST:PORT with a port of 1 to 65535, [HOST] for IPv6
        redis://a:65536                 | has a server that is none; use HOST or HOST:PORT with a port of 1 to 65535, [HOST] for IPv6
        redis://a,b                     | has a server that is none; use HOST or HOST:PORT with a port of 1 to 65535, [HOST] for IPv6
        redis://a?ca=x                  | names certificates without TLS; use rediss
        rediss://a?cert=x               | needs cert= and key= together
        rediss://a?ca                   | has a parameter that is none; use ca=FILE, cert=FILE and key=FILE
        rediss://a?password=topsecret   | has a parameter that is none; use ca=FILE, cert=FILE and key=FILE
        """)
    void uriOfRedisThatHoldsNoRegisterIsRefusedInOneLine(String uri, String why) throws Exception {
        assertThat(mistakes(LEAST + "register:\n  redis: " + uri + "\n")).containsExactly("8: redis " + why);
    }

    @Test
    void mistakesOfRegisterInRedisHaveTheirLines() throws Exception {
        assertThat(mistakes(LEAST + "register:\n  redis: redis://a\n  name: a b\n  user: me\n"))
                .containsExactly(
                        "9: name 'a b' is none of a register; write name: with 1 to 100 letters, digits and . _ : / -",
                        "10: user needs password-file too; write password-file: FILE");
        String one =
                "8: register needs jdbc-url: jdbc:postgresql://HOST/DATABASE or redis: redis://HOST:PORT, and one of"
                        + " them alone";
        assertThat(mistakes(LEAST + "register:\n  lease: 10s\n")).containsExactly(one);
        assertThat(mistakes(LEAST + "register:\n  redis: redis://a\n  jdbc-url: jdbc:postgresql://a/b\n"))
                .containsExactly(one);
        assertThat(mistakes(LEAST + "register:\n  jdbc-url: jdbc:postgresql://a/b\n  name: a\n"))
                .containsExactly("9: name is that of a register in Redis; leave it out");
    }

    @Test
    void verifiedClientsMayBeOnOtherMachines() throws Exception {
        GatewayConfig config = ConfigFile.read(file("listen: 0.0.0.0:7620\n"
                        + "tls: {cert: gateway.pem, key: gateway.key, client-ca: clients.pem}\n" + LEAST)
                .toString());
        assertThat(config.tls())
                .isEqualTo(new TlsConfig(
                        directory.resolve("clients.pem"),
                        directory.resolve("gateway.pem"),
                        directory.resolve("gateway.key")));
        assertThat(mistakes("listen: 0.0.0.0:7620\ntls: {cert: gateway.pem, key: gateway.key}\n" + LEAST))
                .hasSize(1);
    }

    @Test
    void routesThatHideOrContradictOneAnotherAreRefused() throws Exception {
        assertThat(mistakes("""
                protects: items
                upstream: {addresses: "127.0.0.1:8080"}
                routes:
                  - path: /items/{id}
                    methods: [GET]
                    lock: items/{id}
                  - path: /items/{key}
                    methods: [PUT]
                    lock: things/{key}
                  - path: /items/{name}
                    host: shop
                    methods: [PUT]
                    lock: things/{name}
                """))
                .containsExactly(
                        "7: this route guards a path by another lock than the one of line 4; tokens of two locks have no"
                                + " order: name the same lock in both",
                        "10: this route is never reached: the one of line 7 takes all of its requests; move it before"
                                + " that one, or remove it",
                        "10: this route guards a path by another lock than the one of line 4; tokens of two locks have"
                                + " no order: name the same lock in both");
    }

    private List<String> mistakesOfRoutes(String routes) throws IOException {
        return mistakes("protects: items\nupstream: {addresses: \"127.0.0.1:8080\"}\nroutes:\n" + routes);
    }

    /** PUT /items/top would write under another lock than the one that GET /items/top reads under. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "  - {path: /items/top, methods: GET, lock: top}\n  - {path: '/items/{id}', lock: 'items/{id}'}\n",
                "  - {path: '/items/{id}', methods: GET, lock: '{id}'}\n  - {path: '/{p*}', lock: '{p}'}\n",
                "  - {path: '/{p*}', methods: GET, lock: '{p}'}\n  - {path: '/items/{id}', lock: '{id}'}\n",
                "  - {path: '/items/{id}', methods: GET, host: a, lock: '{id}'}\n  - {path: '/{p*}', lock: '{p}'}\n",
                "  - {path: '/{a}/top', methods: GET, lock: '{a}'}\n  - {path: '/items/{b}', lock: 'items/{b}'}\n"
            })
    void oneOfTwoLocksOfPathsThatOverlapIsRefused(String routes) throws Exception {
        assertThat(mistakesOfRoutes(routes))
                .containsExactly("5: this route guards a path by another lock than the one of line 4; tokens of two"
                        + " locks have no order: name the same lock in both");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "  - {path: /a/top, methods: GET, lock: a/top}\n  - {path: '/a/{id}', lock: 'a/{id}'}\n",
                "  - {path: '/items/{id}', methods: GET, lock: 'items/{id}'}\n  - {path: '/{p*}', lock: '{p}'}\n",
                "  - {path: /items/top, lock: top}\n  - {path: '/items/{id}', lock: 'items/{id}'}\n",
                """
                  - {path: /items/top, methods: POST, access: read, lock: top}
                  - {path: /items/top, lock: top}
                  - {path: '/items/{id}', lock: 'items/{id}'}
                """,
                "  - {path: /items/, methods: GET, lock: all}\n  - {path: '/items/{id}', lock: 'items/{id}'}\n",
                "  - {path: /items/top, host: a, methods: GET, lock: a}\n  - {path: '/items/{id}', host: b, lock: b}\n"
            })
    void pathsThatOverlapUnderOneLockAreNot(String routes) throws Exception {
        assertThat(ConfigFile.read(
                                file("protects: items\nupstream: {addresses: \"127.0.0.1:8080\"}\nroutes:\n" + routes)
                                        .toString())
                        .routes()
                        .routes())
                .isNotEmpty();
    }

    @Test
    void whatIsNoYamlIsToldWithItsLine() throws Exception {
        assertThat(mistakes("protects: items\n\troutes: []\n"))
                .singleElement()
                .asString()
                .startsWith("2: this is no YAML: ");
        assertThat(mistakes("")).singleElement().asString().startsWith("1: the file is empty");
        assertThat(mistakes("- a\n- b\n").get(0)).startsWith("1: this is no mapping");
        assertThat(mistakes("a: 1\n---\nb: 2\n").get(0)).contains("this is no YAML");
    }

    @Test
    void metricsAreServedOnLoopbackOnlyUnlessToldOtherwise() throws Exception {
        assertThat(ConfigFile.read(file(LEAST).toString()).admin()).isNull();
        assertThat(ConfigFile.read(file("admin: 127.0.0.1:7621\n" + LEAST).toString())
                        .admin())
                .hasToString("/127.0.0.1:7621");
        assertThat(mistakes("admin: 0.0.0.0:7621\n" + LEAST))
                .containsExactly("1: admin 0.0.0.0:7621 would serve other machines and not verify them; use a loopback"
                        + " address, verify clients with client-ca below tls, or say insecure: true");
        assertThat(mistakes("admin: 7621\n" + LEAST))
                .containsExactly(
                        "1: admin is '7621'; write host:port with a port of 0 to 65535, such as 127.0.0.1:7621");
    }

    @Test
    void fileOfTheGuideHasNoMistakeAndItsTablesHaveEveryKey() throws Exception {
        Path page = Path.of(System.getProperty("palisade.root"), "docs/guides/guard-a-service-you-cannot-change.md");
        String guide = Files.readString(page);
        String yaml = guide.split("```yaml\n", 2)[1].split("```", 2)[0];
        assertThat(ConfigFile.read(file(yaml).toString()).routes().routes()).hasSize(2);
        String grpc = guide.split("```yaml\n", 3)[2].split("```", 2)[0];
        assertThat(ConfigFile.read(file(HTTP2 + grpc).toString()).routes().routes())
                .hasSize(2);
        for (String key : ConfigFile.KEYS) {
            assertThat(guide)
                    .contains(key.equals("upstream") || key.equals("routes") ? key + ":" : "| `" + key + "` |");
        }
        ConfigFile.UPSTREAM_KEYS.forEach(key -> assertThat(guide).contains("| `upstream." + key + "` |"));
        RouteSection.KEYS.forEach(key -> assertThat(guide).contains("| `" + key + "` |"));
    }

    /** A keyset that was made here would verify nothing that a lock server signs. */
    @Test
    void missingKeysetIsRefusedAndNotMade() throws Exception {
        assertThat(Main.run("--config", file("keyset: none.json\n" + LEAST).toString()))
                .isEqualTo(3);
        assertThat(directory.resolve("none.json")).doesNotExist();
    }

    @Test
    void audienceNamesTheGuardGroup() throws Exception {
        GatewayConfig config = ConfigFile.read(
                file("audience: payments\nprevious-keyset: old.json\n" + LEAST).toString());
        assertThat(config.audience()).isEqualTo("payments");
        assertThat(config.previousKeyset()).isEqualTo(directory.resolve("old.json"));
        assertThat(ConfigFile.read(file(LEAST).toString()).audience()).isNull();
        assertThat(mistakes("audience: two words\n" + LEAST))
                .containsExactly("1: audience is 'two words'; use 1 to 64 letters, digits and . _ -");
        assertThat(mistakes("previous-keyset: old.json\n" + LEAST))
                .containsExactly("1: previous-keyset needs audience too; without it, name that keyset with keyset");
    }

    @Test
    void checkPrintsWhatWouldBeGuardedHow() throws Exception {
        Path file = file(LEAST + """
                  - host: Shop.example
                    path: /search
                    methods: [POST]
                    access: read
                    lock: "shop/{header.X-Shop}"
                  - path: /{rest*}
                    methods: GET
                    access: unguarded
                keyset: keys.json
                """);
        KeysetFile.openOrCreate(directory.resolve("keys.json"));
        StringWriter out = new StringWriter();
        int code =
                new CommandLine(new CheckCommand()).setOut(new PrintWriter(out)).execute(file.toString());
        assertThat(code).isZero();
        assertThat(out.toString().lines())
                .containsExactly(
                        "listens on 127.0.0.1:7620, forwards to 127.0.0.1:8080 by HTTP/1.1",
                        "protects 'items', locks of issuer palisade",
                        "",
                        "LINE  HOST          PATH         READS     WRITES                 LOCK",
                        "5     any           /items/{id}  GET,HEAD  POST,PUT,PATCH,DELETE  items/{id}",
                        "7     shop.example  /search      POST      -                      shop/{header.X-Shop}",
                        "12    any           /{rest*}     -         -                      NOT GUARDED: GET");
    }

    @Test
    void checkNamesEachFileThatAStartCannotUse() throws Exception {
        Files.writeString(directory.resolve("empty"), "");
        Path file = file(LEAST + """
                keyset: none.json
                tls: {cert: none.pem, key: none.key}
                lock-server-tls: {ca: empty}
                lock-server-token-file: none-token
                register: {redis: 'rediss://db?ca=none-ca.pem', password-file: none-password}
                """);
        StringWriter err = new StringWriter();
        int code =
                new CommandLine(new CheckCommand()).setErr(new PrintWriter(err)).execute(file.toString());
        assertThat(code).isEqualTo(3);
        assertThat(err.toString().lines())
                .hasSize(5)
                .satisfiesExactly(
                        line -> assertThat(line).contains("keyset " + directory.resolve("none.json")),
                        line -> assertThat(line).contains(directory.resolve("none.pem") + " does not exist"),
                        line -> assertThat(line)
                                .contains(directory.resolve("empty").toString()),
                        line -> assertThat(line).contains("token file " + directory.resolve("none-token")),
                        line -> assertThat(line).contains("password-file " + directory.resolve("none-password")));
    }

    @Test
    void checkSaysWhatOfGrpcPassesUnguarded() throws Exception {
        Path file = file(HTTP2 + """
                routes:
                  - path: /test.Texts/{method}
                    lock: "texts/{header.item}"
                """);
        StringWriter out = new StringWriter();
        new CommandLine(new CheckCommand()).setOut(new PrintWriter(out)).execute(file.toString());
        assertThat(out.toString().lines())
                .contains("listens on 127.0.0.1:7620, forwards to 127.0.0.1:8080 by HTTP/2")
                .last()
                .isEqualTo("gRPC's health and reflection pass without a guard, unless a route names them");
    }

    @Test
    void lockCannotBeNamedByABinaryHeader() throws Exception {
        assertThat(mistakes(HTTP2 + "routes:\n  - path: /test.Texts/{method}\n    lock: texts/{header.item-Bin}\n"))
                .containsExactly("7: lock 'texts/{header.item-Bin}': {header.item-Bin} is binary, and one value has"
                        + " several spellings; use a header of text");
    }

    /** Its requests would go round until a limit ends them. */
    @Test
    void gatewayIsNotItsOwnService() throws Exception {
        String routes = "\nroutes:\n  - path: /items/{id}\n    lock: items/{id}\n";
        String own = "4: %s is the gateway's own address; name the service's";
        for (String service : List.of("127.0.0.1:7620", "localhost:7620", "0.0.0.0:7620")) {
            assertThat(mistakes("listen: 127.0.0.1:7620\nprotects: items\nupstream:\n  addresses: " + service + routes))
                    .containsExactly(own.formatted(service));
        }
        assertThat(mistakes("listen: 0.0.0.0:7620\ninsecure: true\nprotects: items\nupstream: {addresses: \""
                        + "127.0.0.1:7620\"}" + routes))
                .containsExactly(own.formatted("127.0.0.1:7620"));
        for (String service : List.of("127.0.0.1:7621", "127.0.0.2:7620", "no-such-host.invalid:7620")) {
            GatewayConfig config = ConfigFile.read(
                    file("listen: 127.0.0.1:7620\nprotects: items\nupstream:\n  addresses: " + service + routes)
                            .toString());
            assertThat(config.upstream().addresses()).containsExactly(service);
        }
    }

    @Test
    void asteriskInAPathIsRefused() throws Exception {
        assertThat(mistakesOfRoutes("  - path: /counters/*\n    lock: counters\n"))
                .containsExactly("4: path '/counters/*': an asterisk stands for nothing; write /items/{rest*} for all"
                        + " paths below one");
        assertThat(mistakesOfRoutes("  - path: /counters/*/value\n    lock: counters\n"))
                .containsExactly("4: path '/counters/*/value': an asterisk stands for nothing; write /items/{id} for"
                        + " one segment");
    }

    @Test
    void locksOfGuardsAreRefused() throws Exception {
        assertThat(mistakesOfRoutes("  - path: /items/{id}\n    lock: palisade/guards/{id}\n"))
                .containsExactly("5: lock 'palisade/guards/{id}' begins with palisade/guards/, which is for guards;"
                        + " begin it with another text");
    }

    @Test
    void checkPrintsEachMistakeOnALineOfItsOwn() throws Exception {
        Path file = file("protects: items\nroutes: []\n");
        StringWriter err = new StringWriter();
        int code =
                new CommandLine(new CheckCommand()).setErr(new PrintWriter(err)).execute(file.toString());
        assertThat(code).isEqualTo(2);
        assertThat(err.toString().lines()).hasSize(1).allMatch(line -> line.startsWith("check: " + file + ":"));
    }
}
