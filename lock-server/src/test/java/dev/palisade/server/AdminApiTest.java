package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.palisade.proto.v1.AcquireReply;
import dev.palisade.proto.v1.Granted;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.server.admin.AdminResponse;
import dev.palisade.server.rpc.Served;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The JSON API over real HTTP: its replies, and what it refuses. */
class AdminApiTest {
    private static final String HOSTILE = "<img src=x onerror=alert(1)>\"'&/..%2e";

    private static final AtomicInteger LOCKS = new AtomicInteger();

    @TempDir
    static Path folder;

    private static AdminServed admin;

    /** A lock of each test's own: they share one server. */
    private final String lock = "api-" + LOCKS.incrementAndGet();

    private final String path = "/api/v1/locks/" + lock;

    @BeforeAll
    static void serve() throws Exception {
        admin = new AdminServed(folder.resolve("locks"), null);
    }

    @AfterAll
    static void close() throws Exception {
        admin.close();
    }

    private static Granted acquired(String lock, long session) {
        return acquired(admin, lock, session);
    }

    private static Granted acquired(AdminServed admin, String lock, long session) {
        return admin.served
                .unary()
                .acquire(Served.acquire(lock, 1, 0)
                        .setSessionId(Served.session(session))
                        .setOwner("owner-" + session)
                        .setPurpose("purpose-" + session)
                        .build())
                .getGranted();
    }

    private static void waiting(String lock, long session) {
        LocksGrpc.newStub(admin.served.unary().getChannel())
                .acquire(
                        Served.acquire(lock, 1, 60_000)
                                .setSessionId(Served.session(session))
                                .setOwner("owner-" + session)
                                .build(),
                        new StreamObserver<>() {
                            @Override
                            public void onNext(AcquireReply reply) {}

                            @Override
                            public void onError(Throwable failure) {}

                            @Override
                            public void onCompleted() {}
                        });
        await().until(() -> admin.get("/api/v1/locks/" + lock, null).body().contains("owner-" + session));
    }

    private static AdminServed.Reply matching(String operation, AdminServed.Reply reply) throws IOException {
        assertThat(OpenApi.load().mistakes(operation, reply))
                .as("%s: %s", operation, reply.body())
                .isEmpty();
        return reply;
    }

    @Test
    void everyReplyIsAsTheFileSays() throws Exception {
        acquired(lock, 1);
        waiting(lock, 2);
        matching("GET /caller", admin.get("/api/v1/caller", null));
        assertThat(matching("GET /locks", admin.get("/api/v1/locks?prefix=" + lock, null))
                        .body())
                .contains("\"locksTotal\":1", "owner-1");
        assertThat(matching("GET /locks/{lock}", admin.get(path, null)).body())
                .contains("GRANTED", "QUEUED", "owner-2", "purpose-1", "\"mayForceRelease\":true");
        assertThat(matching("GET /locks/{lock}/explain", admin.get(path + "/explain", null))
                        .body())
                .contains("\"state\":\"HELD\"", "owner-1", "advice");
        assertThat(matching("GET /sessions", admin.get("/api/v1/sessions", null))
                        .status())
                .isEqualTo(200);
        assertThat(matching("GET /store", admin.get("/api/v1/store", null)).body())
                .contains("\"kind\":\"embedded\"");
        String body = "{\"by\":\"an operator\",\"why\":\"maintenance\"}";
        assertThat(matching("POST /locks/{lock}/request-release", admin.post(path + "/request-release", null, body))
                        .body())
                .isEqualTo("{\"holdersAsked\":1}");
        assertThat(matching("POST /locks/{lock}/force-release", admin.post(path + "/force-release", null, body))
                        .body())
                .isEqualTo("{\"released\":1}");
        assertThat(admin.get(path, null).body()).contains("FORCE_RELEASED", "an operator", "maintenance");
        for (String operation : OpenApi.load().operations()) {
            String[] parts = operation.split(" ", 2);
            String asked = "/api/v1" + parts[1].replace("{lock}", lock) + "?none=1";
            AdminServed.Reply refused = admin.ask(parts[0], asked, null, "");
            assertThat(refused.status()).as(operation).isGreaterThanOrEqualTo(400);
            assertThat(refused.head()).contains("application/problem+json");
            matching(operation, refused);
        }
    }

    @Test
    void onlyTheLeaseOfTheTokenIsReleased() throws Exception {
        long token = acquired(lock, 1).getToken();
        String body = "{\"token\":\"%d\",\"by\":\"b\",\"why\":\"w\"}";
        assertThat(admin.post(path + "/force-release", null, body.formatted(token - 1))
                        .body())
                .contains("\"released\":0");
        assertThat(admin.post(path + "/force-release", null, body.formatted(token))
                        .body())
                .contains("\"released\":1");
    }

    @Test
    void theHistoryNamesThePrincipal(@TempDir Path own) throws Exception {
        AdminUsers users = new AdminUsers(own, List.of("allow ops * *"));
        String token = users.add("ops");
        try (AdminServed guarded = new AdminServed(own.resolve("locks"), users.load())) {
            acquired(guarded, lock, 1);
            String release = path + "/force-release";
            AdminServed.Reply asAnother = guarded.post(release, token, "{\"by\":\"alice\",\"why\":\"w\"}");
            assertThat(asAnother.status()).isEqualTo(400);
            assertThat(asAnother.body()).contains("leave 'by' out");
            assertThat(guarded.post(release, token, "{\"why\":\"stuck\"}").status())
                    .isEqualTo(200);
            assertThat(guarded.get(path, token).body()).contains("\"detail\":\"by ops: stuck\"");
            assertThat(String.join("\n", guarded.served.events)).doesNotContain(token);
        }
    }

    @Test
    void locksAreSortedAndPaged() throws Exception {
        for (int i = 0; i < 60; i++) {
            acquired(lock + "-%02d".formatted(i), i + 1);
        }
        waiting(lock + "-30", 100);
        String listed = "/api/v1/locks?prefix=" + lock + "-";
        String first = admin.get(listed, null).body();
        assertThat(first)
                .contains("\"locksTotal\":60", "\"pages\":2", lock + "-00", lock + "-49")
                .doesNotContain(lock + "-50");
        assertThat(admin.get(listed + "&page=2", null).body())
                .contains(lock + "-50")
                .doesNotContain(lock + "-49");
        assertThat(admin.get(listed + "&page=3", null).body()).contains("\"locks\":[]");
        assertThat(admin.get("/api/v1/locks?sort=waiters&prefix=" + lock + "-", null)
                        .body())
                .startsWith("{\"locks\":[{\"lock\":\"" + lock + "-30\"");
        assertThat(admin.get("/api/v1/locks?sort=held&prefix=" + lock + "-1", null)
                        .body())
                .startsWith("{\"locks\":[{\"lock\":\"" + lock + "-10\"")
                .contains("\"locksTotal\":10");
    }

    @Test
    void namesArriveAsTheyAre() throws Exception {
        acquired(HOSTILE, 1);
        String hostile = "/api/v1/locks/"
                + URLEncoder.encode(HOSTILE, StandardCharsets.UTF_8).replace("+", "%20");
        AdminServed.Reply reply = matching("GET /locks/{lock}", admin.get(hostile, null));
        assertThat(reply.body()).contains("\"holdersTotal\":1");
        assertThat(reply.head()).contains("content-type: application/json\r\n");
    }

    @Test
    void everyResponseHasTheSecurityHeaders() throws Exception {
        for (String each : List.of("/", "/page/main.js", "/api/v1/locks", "/api/v1/none", "/metrics", "/none")) {
            AdminServed.Reply reply = admin.get(each, null);
            AdminResponse.SECURITY_HEADERS.forEach(
                    (name, value) -> assertThat(reply.head()).as(each).contains(name + ": " + value));
            assertThat(reply.head()).contains("cache-control: no-store").doesNotContain("access-control-allow");
        }
        assertThat(AdminResponse.SECURITY_HEADERS.get("content-security-policy"))
                .startsWith("default-src 'none'; script-src 'self'; style-src 'self';")
                .contains("frame-ancestors 'none'", "form-action 'none'")
                .doesNotContain("unsafe");
    }

    @Test
    void pagesOfOtherOriginsAreRefused() throws Exception {
        acquired(lock, 1);
        String body = "{\"by\":\"b\",\"why\":\"w\"}";
        for (String header : List.of(
                "Origin: https://evil.example",
                "Origin: null",
                "Origin: http://127.0.0.1:1",
                "Sec-Fetch-Site: cross-site",
                "Sec-Fetch-Site: same-site")) {
            assertThat(admin.ask("POST", path + "/force-release", null, body, header, "Content-Type: application/json")
                            .status())
                    .as(header)
                    .isEqualTo(403);
            assertThat(admin.ask("GET", "/api/v1/locks", null, "", header).status())
                    .as(header)
                    .isEqualTo(403);
        }
        assertThat(admin.get(path, null).body()).contains("\"holdersTotal\":1");
    }

    @Test
    void whatAFormCanSendChangesNothing() throws Exception {
        acquired(lock, 1);
        String body = "{\"by\":\"b\",\"why\":\"w\"}";
        for (String type : List.of("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")) {
            assertThat(admin.ask("POST", path + "/force-release", null, body, "Content-Type: " + type)
                            .status())
                    .isEqualTo(415);
        }
        assertThat(admin.ask("POST", path + "/force-release", null, body).status())
                .isEqualTo(415);
        String own = "127.0.0.1:" + admin.port.port();
        assertThat(admin.ask(
                                "POST",
                                path + "/force-release",
                                null,
                                body,
                                "Content-Type: application/json; charset=utf-8",
                                "Origin: http://" + own,
                                "Sec-Fetch-Site: same-origin")
                        .status())
                .isEqualTo(200);
    }

    @Test
    void withoutTlsANameOfAnotherSiteLeadsNowhere() throws Exception {
        for (String host : List.of("evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "[::1].x")) {
            assertHost(421, host);
        }
        assertHost(400, "");
        for (String host : List.of("localhost", "LOCALHOST:17601", "a.localhost", "192.168.1.7:80", "[::1]:80")) {
            assertHost(200, host);
        }
    }

    private void assertHost(int status, String host) throws IOException {
        assertThat(admin.ask("GET", "/", null, "", "Host: " + host).status())
                .as(host)
                .isEqualTo(status);
        assertThat(admin.ask("GET", "/api/v1/locks", null, "", "Host: " + host).status())
                .as(host)
                .isEqualTo(status);
        assertThat(admin.ask("GET", "/metrics", null, "", "Host: " + host).status())
                .as(host)
                .isEqualTo(status);
        assertThat(admin.ask("GET", "/health/live", null, "", "Host: " + host).status())
                .as(host)
                .isEqualTo(200);
    }

    @Test
    void malformedRequestsAreRefused() throws Exception {
        for (String each : List.of(
                "locks?page=0",
                "locks?page=1e9",
                "locks?page=10000000",
                "locks?sort=color",
                "locks?prefix=a&prefix=b",
                "locks?prefix=%ff",
                "locks?prefix=%1",
                "locks?prefix=" + "x".repeat(257),
                "locks/%c3%28",
                "locks/",
                "locks/%00",
                "locks/a/explain?token=x",
                "locks/a/explain?token=-1",
                "locks/a/explain?sequencer=x",
                "sessions?pageToken=x")) {
            assertRefused(400, admin.get("/api/v1/" + each, null));
        }
    }

    @Test
    void malformedBodiesAreRefused() throws Exception {
        acquired(lock, 1);
        for (String body : List.of(
                "",
                "{",
                "[]",
                "null",
                "{\"why\":\"\",\"by\":\"b\"}",
                "{\"why\":\"w\"}",
                "{\"why\":\"w\",\"by\":\"b\",\"lock\":\"b\"}",
                "{\"why\":\"w\",\"by\":\"b\",\"secret\":1}",
                "{\"why\":\"w\",\"by\":\"b\",\"token\":\"-1\"}")) {
            assertRefused(400, admin.post(path + "/force-release", null, body));
        }
        assertThat(admin.get(path, null).body()).contains("\"holdersTotal\":1");
    }

    private static void assertRefused(int status, AdminServed.Reply reply) throws IOException {
        assertThat(reply.status()).as(reply.body()).isEqualTo(status);
        assertThat(reply.head()).contains("content-type: application/problem+json");
        assertThat(OpenApi.load().mistakes("#/components/schemas/Problem", reply.body()))
                .isEmpty();
    }

    @Test
    void longBodiesAreReadAndNotKept() throws Exception {
        String body = "{\"why\":\"" + "x".repeat(100_000) + "\"}";
        assertRefused(413, admin.post(path + "/force-release", null, body));
    }

    @Test
    void otherPathsAndMethodsAreRefused() throws Exception {
        assertRefused(404, admin.get("/api/v1/", null));
        assertRefused(404, admin.get("/api/v1/none", null));
        assertRefused(404, admin.get("/api/v1/store/x", null));
        assertRefused(404, admin.get("/api/v1/locks/a/explode", null));
        assertRefused(404, admin.get("/api/v1/locks/a/force-release/x", null));
        assertRefused(405, admin.get(path + "/force-release", null));
        assertRefused(405, admin.ask("DELETE", "/api/v1/locks/a", null, ""));
        assertRefused(405, admin.ask("OPTIONS", "/api/v1/locks", null, ""));
        assertRefused(405, admin.ask("POST", "/", null, ""));
        AdminServed.Reply head = admin.ask("HEAD", "/api/v1/store", null, "");
        assertThat(head.status()).isEqualTo(200);
        assertThat(head.body()).isEmpty();
    }
}
