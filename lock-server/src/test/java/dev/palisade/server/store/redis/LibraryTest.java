package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Abandon;
import dev.palisade.server.core.Accept;
import dev.palisade.server.core.Acquire;
import dev.palisade.server.core.Answer;
import dev.palisade.server.core.Barrier;
import dev.palisade.server.core.CheckSequencer;
import dev.palisade.server.core.Command;
import dev.palisade.server.core.Describe;
import dev.palisade.server.core.EndCause;
import dev.palisade.server.core.Expire;
import dev.palisade.server.core.ForceRelease;
import dev.palisade.server.core.Leave;
import dev.palisade.server.core.Poll;
import dev.palisade.server.core.Reclaim;
import dev.palisade.server.core.Release;
import dev.palisade.server.core.Renew;
import dev.palisade.server.core.Request;
import dev.palisade.server.core.RequestRelease;
import dev.palisade.server.core.Resume;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The files of the library say what they are, and it is so. */
class LibraryTest {
    private static final Path FILES = Path.of("src/main/resources/redis");
    private static final LockName LOCK = new LockName("a");
    private static final SessionId SESSION = new SessionId(0, 1);
    private static final RequestId ID = new RequestId(SESSION, 1);
    private static final GrantId GRANT = new GrantId(0, 1);
    private static final FencingToken TOKEN = new FencingToken(1);
    private static final Request REQUEST = new Request(ID, 1, GRANT, Mode.EXCLUSIVE, 1, 0, 0, "", "");

    private static final List<Command> COMMANDS = List.of(
            new Acquire(LOCK, REQUEST, 0, 0, 0),
            new Accept(LOCK, GRANT, TOKEN, SESSION, 1),
            new Renew(LOCK, GRANT, TOKEN, SESSION),
            new Release(LOCK, GRANT, TOKEN, SESSION),
            new Leave(LOCK, ID, 1),
            new Expire(LOCK),
            new Abandon(LOCK, GRANT, 1, EndCause.CONNECTION_BROKE),
            new Resume(LOCK, GRANT, TOKEN, SESSION, 1),
            new Reclaim(LOCK, REQUEST, TOKEN),
            new Poll(LOCK, ID, 0),
            new Describe(LOCK),
            new RequestRelease(LOCK, "", ""),
            new ForceRelease(LOCK, 0, "", ""),
            new CheckSequencer(LOCK, GRANT, TOKEN),
            new Barrier(LOCK));

    @Test
    void everyFileIsLoadedAndEveryCommandHasOne() throws IOException {
        try (Stream<Path> files = Files.list(FILES)) {
            assertThat(files.filter(Files::isRegularFile)
                            .map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrderElementsOf(
                            Library.FILES.stream().map(name -> name + ".lua").toList());
        }
        Set<String> verbs = Stream.of(Command.class.getPermittedSubclasses())
                .map(kind -> kind.getSimpleName().toLowerCase(Locale.ROOT))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(headers().keySet()).isEqualTo(verbs);
        assertThat(COMMANDS.stream().map(CommandWords::function))
                .containsExactlyInAnyOrderElementsOf(
                        verbs.stream().map(verb -> "palisade_" + verb).toList());
    }

    @Test
    void aCommandIsSaidInTheWordsOfItsHeader() throws IOException {
        Map<String, Map<String, String>> headers = headers();
        for (Command command : COMMANDS) {
            String verb = CommandWords.function(command).substring("palisade_".length());
            assertThat(CommandWords.of(command, new byte[0], 0, 0))
                    .as("arguments of %s", verb)
                    .hasSize(parts(Objects.requireNonNull(headers.get(verb)), "args")
                            .size());
        }
    }

    @Test
    void headersNameAnswersAndReasonsThatThereAre() throws IOException {
        List<String> answers = Stream.of(Answer.class.getPermittedSubclasses())
                .map(Class::getSimpleName)
                .toList();
        List<String> reasons = Arrays.stream(Reason.values()).map(Enum::name).toList();
        headers().forEach((verb, header) -> {
            assertThat(answers).as(verb).containsAll(parts(header, "answers"));
            assertThat(reasons).as(verb).containsAll(parts(header, "refuses"));
        });
    }

    @Test
    void theLibraryTellsItsVersion() {
        FunctionLibrary library = Library.load();
        assertThat(library.code()).startsWith("#!lua name=palisade\n");
        assertThat(library.version()).isPositive();
    }

    @Test
    void everyFileOfTheLogIsLoaded() throws IOException {
        try (Stream<Path> files = Files.list(FILES.resolve("log"))) {
            assertThat(files.map(file -> "log/" + file.getFileName().toString().replace(".lua", "")))
                    .containsExactlyInAnyOrderElementsOf(Library.LOG_FILES.stream()
                            .filter(file -> file.startsWith("log/"))
                            .toList());
        }
        assertThat(Library.loadLog().code()).startsWith("#!lua name=palisade_log\n");
    }

    /** By command, what its header says. */
    static Map<String, Map<String, String>> headers() throws IOException {
        Map<String, Map<String, String>> headers = new TreeMap<>();
        Pattern line = Pattern.compile("^-- (command|args|answers|refuses):(.*)$", Pattern.MULTILINE);
        for (String file : Library.FILES) {
            String text = Files.readString(FILES.resolve(file + ".lua"));
            if (text.startsWith("-- command: ")) {
                Map<String, String> header = new TreeMap<>();
                Matcher found = line.matcher(text);
                while (found.find()) {
                    header.put(found.group(1), found.group(2).strip());
                }
                assertThat(header).as(file).containsOnlyKeys("command", "args", "answers", "refuses");
                assertThat(header).as(file).containsEntry("command", file);
                headers.put(file, header);
            }
        }
        return headers;
    }

    static List<String> parts(Map<String, String> header, String field) {
        String text = header.getOrDefault(field, "");
        return text.isEmpty() ? List.of() : List.of(text.split(", ", -1));
    }
}
