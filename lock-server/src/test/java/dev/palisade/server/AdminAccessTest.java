package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.server.access.Verb;
import dev.palisade.server.rpc.Served;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every path of the API, as every kind of principal. What each needs is read from the page for users. */
class AdminAccessTest {
    private static final Path PAGE = Path.of("../docs/reference/access.md");
    private static final Pattern ROW = Pattern.compile("\\| `(GET|POST) (/\\S+)` \\| (none|`(.*?)`) \\| (.*?) \\|");

    private record Row(String method, String path, Set<String> verbs, boolean isFiltered) {}

    @TempDir
    Path folder;

    private final Map<String, String> tokens = new LinkedHashMap<>();
    private AdminServed admin;

    @BeforeEach
    void serve() throws Exception {
        List<String> lines = new ArrayList<>();
        for (Verb verb : Verb.values()) {
            lines.add("allow only-" + verb.word() + " " + verb.word() + (verb == Verb.OPERATE ? " *" : " walk/*"));
        }
        lines.add("allow stranger acquire,describe,revoke,force-release,guard other/*");
        AdminUsers users = new AdminUsers(folder, lines);
        for (Verb verb : Verb.values()) {
            tokens.put("only-" + verb.word(), users.add("only-" + verb.word()));
        }
        tokens.put("stranger", users.add("stranger"));
        admin = new AdminServed(folder.resolve("locks"), users.load());
    }

    @AfterEach
    void close() throws Exception {
        admin.close();
    }

    private static List<Row> rows() throws Exception {
        List<Row> rows = new ArrayList<>();
        for (String line : Files.readAllLines(PAGE)) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                Set<String> verbs = row.group(4) == null ? Set.of() : Set.of(row.group(4));
                rows.add(new Row(row.group(1), row.group(2), verbs, row.group(5).startsWith("some lock")));
            }
        }
        return rows;
    }

    private int status(Row row, @Nullable String token) throws Exception {
        String path = "/api/v1" + row.path().replace("{lock}", "walk%2F1");
        return row.method().equals("GET")
                ? admin.get(path, token).status()
                : admin.post(path, token, "{\"why\":\"a test\"}").status();
    }

    @Test
    void everyPathNeedsTheVerbOfThePage() throws Exception {
        assertThat(rows()).hasSize(8);
        for (Row row : rows()) {
            assertThat(status(row, null))
                    .as("%s, anonymous", row.path())
                    .isEqualTo(row.path().equals("/caller") ? 200 : 401);
            assertThat(status(row, "palisade_wrong"))
                    .as("%s, wrong token", row.path())
                    .isEqualTo(401);
            assertThat(status(row, tokens.get("stranger")))
                    .as("%s, of a principal with rights elsewhere", row.path())
                    .isEqualTo(row.verbs().isEmpty() || row.isFiltered() ? 200 : 403);
            for (Verb verb : Verb.values()) {
                boolean isAllowed = row.verbs().isEmpty() || row.verbs().contains(verb.word());
                assertThat(status(row, tokens.get("only-" + verb.word())))
                        .as("%s, of a principal that may only %s", row.path(), verb.word())
                        .isEqualTo(isAllowed ? 200 : 403);
            }
        }
    }

    @Test
    void thePageHasARowForEveryPathOfTheFile() throws Exception {
        Set<String> inFile = OpenApi.load().operations();
        assertThat(rows().stream().map(row -> row.method() + " " + row.path()).collect(Collectors.toSet()))
                .isEqualTo(inFile);
    }

    @Test
    void listsShowOnlyWhatTheCallerMayDescribe() throws Exception {
        for (String lock : List.of("other/1", "walk/1", "walk/2", "walk")) {
            var unused = admin.served
                    .unary()
                    .acquire(Served.acquire(lock, 1, 0)
                            .setSessionId(Served.session(1))
                            .build());
        }
        assertThat(locks("/api/v1/locks", "only-describe")).containsExactly("walk/1", "walk/2");
        assertThat(locks("/api/v1/locks?prefix=walk/2", "only-describe")).containsExactly("walk/2");
        assertThat(locks("/api/v1/locks?prefix=o", "only-describe")).isEmpty();
        assertThat(locks("/api/v1/locks", "stranger")).containsExactly("other/1");
        assertThat(admin.get("/api/v1/locks", tokens.get("stranger")).body()).contains("\"locksTotal\":1");
    }

    private List<String> locks(String path, String name) throws Exception {
        Matcher found = Pattern.compile("\"lock\":\"(.*?)\"")
                .matcher(admin.get(path, tokens.get(name)).body());
        return found.results().map(each -> each.group(1)).toList();
    }

    @Test
    void toOpenThePageIsNoRefusal() throws Exception {
        assertThat(admin.get("/api/v1/caller", null).body())
                .isEqualTo(
                        "{\"principal\":\"\",\"issuer\":\"\",\"mustSignIn\":true,\"mayList\":false,\"mayOperate\":false}");
        assertThat(admin.served.engine.rejections().of(Reason.UNAUTHENTICATED)).isZero();
    }

    @Test
    void thePageOffersWhatItsCallerMayDo() throws Exception {
        String described =
                admin.get("/api/v1/locks/walk%2F1", tokens.get("only-describe")).body();
        assertThat(described).contains("\"mayRequestRelease\":false", "\"mayForceRelease\":false");
        assertThat(admin.get("/api/v1/caller", tokens.get("only-operate")).body())
                .contains("\"principal\":\"only-operate\"", "\"mayOperate\":true", "\"mayList\":false");
        assertThat(Arrays.asList(
                        admin.get("/", null).status(),
                        admin.get("/page/main.js", null).status()))
                .containsOnly(200);
    }
}
