package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import picocli.CommandLine;

/** Every {@code palisade} line of a page is a command that exists, with options that exist. Nothing is started. */
class PageCommandsTest {
    /** Verbs of other jars than the command line's own, and their definitions. */
    private static final Map<String, String> ELSEWHERE = Map.of(
            "server", "dev.palisade.server.ServerCommand",
            "keys", "dev.palisade.server.KeysCommand",
            "users", "dev.palisade.server.UsersCommand",
            "policy", "dev.palisade.server.PolicyCommand",
            "objects", "dev.palisade.objects.Main",
            "gateway", "dev.palisade.gateway.Main",
            "demo", "dev.palisade.demo.DemoCommand",
            "chaos", "dev.palisade.chaos.ChaosCommand",
            "bench", "dev.palisade.bench.BenchCommand");

    private static final Pattern BLOCK = Pattern.compile("```(?:sh|cron)\n(.*?)\n *```", Pattern.DOTALL);
    private static final Pattern SPAN = Pattern.compile("`((?:\\./)?palisade [^`]+)`");
    private static final Pattern COMMAND = Pattern.compile("(?:^|[ (\"])(?:\\./)?palisade ([a-z].*)$");
    private static final Pattern WORD = Pattern.compile("'[^']*'|\"[^\"]*\"|[^\\s'\"]+");
    /** An ellipsis, or a list of alternatives, stands for words of the reader's. */
    private static final Pattern SYNOPSIS = Pattern.compile("\\.\\.\\.|…|\\|");

    @TestFactory
    Stream<DynamicTest> everyCommandOfACodeBlockParses() {
        return Docs.pages().stream()
                .flatMap(page -> commands(page).stream()
                        .map(line -> DynamicTest.dynamicTest(page + ": " + line, () -> parse(words(line), true))));
    }

    @TestFactory
    Stream<DynamicTest> everyCommandInASentenceHasItsVerbAndOptions() {
        return Docs.pages().stream()
                .filter(page -> !page.startsWith("docs/decisions/"))
                .flatMap(page -> SPAN.matcher(Docs.page(page))
                        .results()
                        .map(span -> span.group(1))
                        .map(line -> line.replaceFirst("^(\\./)?palisade ", ""))
                        .filter(line -> line.matches("[a-z-]+( .*)?"))
                        .distinct()
                        .map(line -> DynamicTest.dynamicTest(page + ": " + line, () -> parse(words(line), false))));
    }

    @Test
    void commandsAreFoundAndWrongOnesRefused() {
        assertThat(commands("""
                ```sh
                ./palisade demo --unguarded
                nice palisade list | head
                grep palisade.jar
                ```
                """)).containsExactly("demo --unguarded", "list | head");
        assertThat(words("run x --wait 0s -- sh -c 'a b'")).containsExactly("run", "x", "--wait", "0s");
        assertThat(words("keys list   # all of them")).containsExactly("keys", "list");
        assertThat(problem("descirbe x")).contains("descirbe");
        assertThat(problem("server --prot 1")).contains("--prot");
        assertThat(problem("keys rotate")).contains("rotate");
        assertThat(problem("describe")).contains("LOCK");
    }

    private static String problem(String line) {
        try {
            parse(words(line), true);
            return "";
        } catch (CommandLine.ParameterException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** What follows {@code palisade} on the lines of a page's shell blocks. */
    private static List<String> commands(String page) {
        List<String> found = new ArrayList<>();
        Matcher block = BLOCK.matcher(page);
        while (block.find()) {
            block.group(1).replace("\\\n", " ").lines().forEach(line -> {
                Matcher command = COMMAND.matcher(line.strip());
                if (command.find()) {
                    found.add(command.group(1).strip());
                }
            });
        }
        return found;
    }

    /** Without a comment, a pipe, a redirection, and the command that {@code run} is to start. */
    private static List<String> words(String line) {
        List<String> words = new ArrayList<>();
        Matcher word = WORD.matcher(line);
        while (word.find()) {
            String text = word.group();
            if (text.matches("#.*|[|>&;].*|--")) {
                break;
            }
            words.add(text.replaceAll("^(['\"])(.*)\\1$", "$2"));
        }
        return words;
    }

    /** @param whole whether nothing that the command requires may be missing */
    private static void parse(List<String> words, boolean whole) {
        CommandLine palisade = palisade(words.get(0));
        if (whole) {
            // As Commands.run does.
            palisade.setCaseInsensitiveEnumValuesAllowed(true);
            palisade.parseArgs(words.toArray(new String[0]));
            return;
        }
        CommandLine command = palisade;
        for (String word : words) {
            CommandLine sub = command.getSubcommands().get(word);
            if (sub != null) {
                command = sub;
            } else if (word.startsWith("-") && !SYNOPSIS.matcher(word).find()) {
                assertThat(command.getCommandSpec().optionsMap()).containsKey(word.replaceFirst("=.*", ""));
            }
        }
        assertThat(command).as("the verb of %s", words).isNotSameAs(palisade);
    }

    private static CommandLine palisade(String verb) {
        try {
            String elsewhere = ELSEWHERE.get(verb);
            if (elsewhere == null) {
                Method all = Class.forName("dev.palisade.cli.Verbs").getDeclaredMethod("all");
                all.setAccessible(true);
                return (CommandLine) all.invoke(null);
            }
            Constructor<?> constructor = Class.forName(elsewhere).getDeclaredConstructor();
            constructor.setAccessible(true);
            return new CommandLine(CommandLine.Model.CommandSpec.create().name("palisade"))
                    .addSubcommand(verb, constructor.newInstance());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }
}
