package dev.palisade.monitoring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.client.Lease;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.crypto.SequencerVerifier;
import dev.palisade.contract.grpc.BearerTokenFile;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Guard;
import dev.palisade.guard.MarkStore;
import dev.palisade.guard.grpc.GrpcLockService;
import dev.palisade.pki.TestAuthority;
import dev.palisade.pki.TestCertificate;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import io.grpc.ChannelCredentials;
import io.grpc.CompositeChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.openqa.selenium.Keys;

/** The admin page of a real server with a policy, in a real browser: what operators do with it, and what it refuses. */
class AdminPageIT {
    private static final String AT = "admin page ";
    private static final String OPS = "palisade_" + "O".repeat(43);
    private static final String VIEWER = "palisade_" + "V".repeat(43);
    private static final String HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>";

    @TempDir
    static Path folder;

    private static Installation installation;
    private static Child server;
    private static String address;
    private static String page;
    private static Browser browser;

    @BeforeAll
    static void start() throws Exception {
        installation = Installation.fresh();
        Path policy =
                Files.writeString(folder.resolve("policy.conf"), "allow ops * *\nallow viewer describe orders/*\n");
        Path users = Files.write(folder.resolve("users"), List.of(user("ops", OPS), user("viewer", VIEWER)));
        Files.setPosixFilePermissions(users, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(folder.resolve("ops-token"), OPS);
        String jar = installation.file("lock-server/target/palisade-server.jar").toString();
        String[] options = {
            "--port", "0", "--admin-port", "0", "--policy", policy.toString(), "--users", users.toString()
        };
        List<String> command = Child.java("-jar", jar, "server");
        command.addAll(List.of(options));
        server = Child.start(
                "server", command, Map.of("PALISADE_HOME", installation.home().toString()));
        browser = Browser.orSkip(installation.home()); // Starts while the server does.
        String line = server.await(any -> any.contains(AT));
        page = line.substring(line.indexOf(AT) + AT.length(), line.indexOf(','));
        address = Installation.Service.of(server).address();
    }

    private static String user(String name, String token) throws Exception {
        byte[] hash = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
        return name + " " + HexFormat.of().formatHex(hash) + " 2026-01-02";
    }

    @AfterAll
    static void stop() {
        if (browser != null) {
            browser.close();
        }
        if (server != null) {
            server.close();
        }
        installation.close();
    }

    @AfterEach
    void theConsoleIsEmpty() {
        assertThat(browser.console()).isEmpty();
    }

    private static ChannelCredentials credentials() {
        return CompositeChannelCredentials.create(
                InsecureChannelCredentials.create(), BearerTokenFile.at(folder.resolve("ops-token")));
    }

    private static PalisadeClient client(String owner) {
        return PalisadeClient.builder()
                .servers(address)
                .owner(owner)
                .credentials(credentials())
                .build();
    }

    private static Lease acquired(PalisadeClient client, String lock) {
        try {
            return client.acquire(lock, Duration.ofMinutes(2));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static void signIn(String token, String fragment) {
        browser.open(page + fragment);
        browser.type("#token", token);
        browser.click("main button");
    }

    private static void assertAccessible(String view) throws Exception {
        browser.look(view);
        assertThat(browser.accessibilityProblems()).as(view).isEmpty();
    }

    /** From the sign-in to the forced release without a mouse. */
    @Test
    void theKeyboardAloneIsEnough() throws Exception {
        try (PalisadeClient stuck = client("stuck-worker")) {
            Lease lease = stuck.acquire("keys/1", Duration.ofMinutes(1));
            browser.open(page);
            Browser.waiting().until(() -> browser.focus().equals("token"));
            browser.press(OPS, Keys.ENTER);
            browser.awaitText("#results", "keys/1");
            browser.tabTo("#prefix");
            browser.press("keys/", Keys.ENTER);
            Browser.waiting().until(() -> browser.text("#results").contains("1 lock"));
            browser.tabTo("keys/1");
            browser.press(Keys.ENTER);
            browser.awaitText("section[aria-label='Held by']", "stuck-worker");
            browser.tabTo("#force-release");
            browser.press(Keys.ENTER);
            Browser.waiting().until(() -> browser.focus().equals("why"));
            browser.press(Keys.ESCAPE);
            Browser.waiting().until(() -> browser.count("dialog") == 0);
            assertThat(browser.focus()).as("the focus is back").isEqualTo("force-release");
            browser.press(Keys.ENTER);
            Browser.waiting().until(() -> browser.focus().equals("why"));
            browser.press("by keys alone", Keys.ENTER);
            browser.awaitText("#result", "1 lease ended");
            Browser.waiting().until(() -> !lease.isValid());
        }
    }

    /** The browser verifies no certificate here; which clients the port accepts with theirs, a client of the JDK shows. */
    @Test
    void thePageIsServedWithTlsToTokensAndCertificates(@TempDir Path home) throws Exception {
        TestAuthority authority = TestAuthority.named("authority");
        TestCertificate certificate = authority.server();
        Files.writeString(folder.resolve("policy.conf"), "allow dns:operator * *\n", StandardOpenOption.APPEND);
        List<String> command =
                Child.java("-jar", Installation.jar("lock-server/target/palisade-server.jar"), "server", "--port", "0");
        command.addAll(List.of(
                "--admin-port",
                "0",
                "--policy",
                folder.resolve("policy.conf").toString(),
                "--users",
                folder.resolve("users").toString(),
                "--tls-cert",
                certificate.writeCertificate(home.resolve("server.pem")).toString(),
                "--tls-key",
                certificate.writeKey(home.resolve("server.key")).toString(),
                "--tls-client-ca",
                authority.write(home.resolve("ca.pem")).toString(),
                "--tls-client-auth",
                "optional"));
        try (Child secure = Child.start("secure", command, Map.of("PALISADE_HOME", home.toString()))) {
            String line = secure.await(any -> any.contains(AT));
            String url = line.substring(line.indexOf(AT) + AT.length(), line.indexOf(','));
            assertThat(url).startsWith("https://");
            browser.open(url);
            browser.type("#token", VIEWER);
            browser.click("main button");
            browser.awaitText("#live", "Live");
            assertThat(browser.text("#principal")).isEqualTo("viewer");

            URI caller = URI.create(url.replace("127.0.0.1", "localhost") + "api/v1/caller");
            assertThat(get(caller, authority.context(authority.client("operator"))))
                    .contains("dns:operator");
            assertThat(get(caller, authority.context(null))).contains("\"mustSignIn\":true");
            browser.open("about:blank"); // Or its events would break with the server.
        }
    }

    private static String get(URI uri, SSLContext tls) throws Exception {
        return HttpClient.newBuilder()
                .sslContext(tls)
                .build()
                .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Test
    void aWrongTokenIsRefusedAndALesserOneOffersLess() throws Exception {
        try (PalisadeClient holder = client("holder")) {
            Lease lease = holder.acquire("orders/7", Duration.ofMinutes(1));
            Lease hidden = holder.acquire("secret", Duration.ofMinutes(1));
            signIn("palisade_wrong", "");
            browser.awaitText("main .problem", "the token is not one of a user");
            assertAccessible("sign-in");
            assertThat(browser.console()).singleElement().asString().contains("401");
            browser.type("#token", VIEWER);
            browser.click("main button");
            browser.awaitText("#live", "Live");
            assertThat(browser.text("#principal")).isEqualTo("viewer");
            assertThat(browser.text("nav")).isEqualTo("Locks");
            browser.awaitText("#results", "orders/7");
            assertThat(browser.text("#results")).doesNotContain("secret");
            browser.clickLink("orders/7");
            browser.awaitText("main", "holder");
            assertThat(browser.count("#force-release")).isZero();
            lease.close();
            hidden.close();
        }
        browser.click("#sign-out");
        browser.awaitText("main h2", "Sign in");
    }

    @Test
    void aLockIsFoundAndFollowedThroughAHandOver() throws Exception {
        try (PalisadeClient first = client("first-worker");
                PalisadeClient second = client("second-worker")) {
            Lease lease = first.acquire("orders/42", Duration.ofMinutes(1));
            Lease other = first.acquire("reports/nightly", Duration.ofMinutes(1));
            CompletableFuture<Lease> waiting = CompletableFuture.supplyAsync(() -> acquired(second, "orders/42"));
            signIn(OPS, "");
            browser.awaitText("#results", "reports/nightly");
            assertAccessible("locks");
            browser.type("#prefix", "orders/4");
            browser.click("form button");
            Browser.waiting().until(() -> !browser.text("#results").contains("reports/nightly"));
            browser.clickLink("orders/42");
            browser.awaitText("section[aria-label=Queue]", "second-worker");
            browser.awaitText("section[aria-label='Held by']", "first-worker");
            lease.close();
            browser.awaitText("section[aria-label='Held by']", "second-worker");
            browser.awaitText("section[aria-label=History]", "first-worker released the lock");
            assertThat(browser.attribute("svg.timeline", "aria-label"))
                    .contains("first-worker\u2069: held", "second-worker\u2069: waited");
            assertAccessible("lock");
            browser.screenshot("admin-page");
            waiting.get().close();
            other.close();
        }
    }

    @Test
    void aLeaseIsForceReleasedForAReason() throws Exception {
        try (PalisadeClient stuck = client("stuck-worker")) {
            CompletableFuture<String> lost = new CompletableFuture<>();
            Lease lease = stuck.acquire("orders/9", Duration.ofMinutes(1));
            lease.onLost(reason -> lost.complete(String.valueOf(reason)));
            signIn(OPS, "#/lock/orders%2F9");
            browser.awaitText("main", "stuck-worker");
            browser.click("#request-release");
            browser.click("dialog button[type=button]");
            Browser.waiting().until(() -> browser.count("dialog") == 0);
            browser.click("#force-release");
            assertThat(browser.text("dialog"))
                    .contains(
                            "orders/9", "stuck-worker", "token " + lease.token().value());
            browser.click("#confirm");
            assertThat(browser.count("dialog")).as("a reason is required").isEqualTo(1);
            assertAccessible("dialog");
            browser.type("#why", "stuck since Monday");
            browser.click("#confirm");
            browser.awaitText("#result", "1 lease ended");
            assertThat(lost.get()).isNotEmpty();
            browser.awaitText("section[aria-label=History]", "by ops: stuck since Monday");
            browser.awaitText("section[aria-label='Held by']", "Free.");
        }
    }

    @Test
    void aRefusedCallIsExplained() throws Exception {
        ManagedChannel channel = Grpc.newChannelBuilder(address, credentials()).build();
        Path marks = folder.resolve("marks");
        MarkStore.createNeverUsed(marks);
        SequencerVerifier keys = KeysetFile.open(installation.home().resolve("keys/sequencers.json"))
                .verifier("palisade");
        try (PalisadeClient worker = client("late-worker");
                Guard guard = Guard.builder(keys, MarkStore.file(marks))
                        .lockService(GrpcLockService.at(channel, "palisade"))
                        .protecting("shop")
                        .build()) {
            Lease former = worker.acquire("orders/8", Duration.ofMinutes(1));
            former.close();
            Lease present = worker.acquire("orders/8", Duration.ofMinutes(1));
            guard.enter(present.sequencer(), Access.WRITE, Binding.of("orders/8"))
                    .close();
            assertThatThrownBy(() -> guard.enter(former.sequencer(), Access.WRITE, Binding.of("orders/8")))
                    .isInstanceOf(RejectedException.class);
            signIn(OPS, "#/lock/orders%2F8");
            browser.awaitText("main", "late-worker");
            Browser.waiting().until(() -> {
                browser.click("#explain");
                return browser.text("#explanation").contains("TOKEN_STALE");
            });
            assertThat(browser.text("#explanation"))
                    .contains("The guard 'shop at", "token " + former.token(), "token " + present.token());
            assertAccessible("explanation");
            browser.screenshot("explanation");
            present.close();
        } finally {
            channel.shutdownNow();
        }
    }

    @Test
    void namesAreTextAndTheServerIsShown() throws Exception {
        try (PalisadeClient hostile = client(HOSTILE)) {
            Lease lease = hostile.acquire(HOSTILE, Duration.ofMinutes(1));
            signIn(OPS, "");
            browser.awaitText("#results", HOSTILE);
            assertThat(browser.count("#results td bdi"))
                    .as("its lock and its owner, apart from their neighbours")
                    .isEqualTo(2);
            browser.clickLink(HOSTILE);
            browser.awaitText("main h2", HOSTILE);
            browser.awaitText("section[aria-label=History]", HOSTILE + " was granted the lock");
            assertThat(browser.count("main img, main script")).isZero();
            browser.clickLink("Sessions");
            browser.awaitText("table", HOSTILE);
            assertAccessible("sessions");
            browser.clickLink("Store");
            browser.awaitText("main", "Up: locks are decided.");
            assertAccessible("store");
            lease.close();
        }
    }

    @Test
    void thePageFitsAPhone() throws Exception {
        try (PalisadeClient holder = client("a-worker-with-a-long-name@host-17.example.org")) {
            String name = "reports/" + "a-very-long-name/".repeat(6) + "of-a-lock";
            Lease lease = holder.acquire(name, Duration.ofMinutes(1));
            browser.resize(360, 740);
            signIn(OPS, "");
            browser.awaitText("#results", name);
            assertThat(browser.number("document.documentElement.scrollWidth")).isLessThanOrEqualTo(360);
            browser.clickLink(name);
            browser.awaitText("main h2", name);
            browser.awaitText("section[aria-label=History]", "was granted the lock");
            assertThat(browser.number("document.documentElement.scrollWidth")).isLessThanOrEqualTo(360);
            assertThat(browser.number("document.querySelector('svg.timeline text').getBoundingClientRect().height"))
                    .as("the timeline is drawn for a phone, not scaled down to one")
                    .isGreaterThanOrEqualTo(10);
            assertThat(browser.number("Math.min(...[...document.querySelectorAll('main button, main input')]"
                            + ".map(e => e.getBoundingClientRect().height))"))
                    .as("the least height of a control, for fingers")
                    .isGreaterThanOrEqualTo(40);
            lease.close();
        } finally {
            browser.resize(1_000, 800);
        }
    }
}
