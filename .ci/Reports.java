import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/**
 * Reader of the test reports of a CI run, by the folders below {@code target} they are in. Run as {@code java .ci/Reports.java VERB ...}:
 *
 * <pre>
 *   left-out-units CHECKOUT      the unit tests that the first pass skipped, for -Dtest
 *   left-out-processes CHECKOUT  the same of tests of whole processes, for -Dit.test
 *   failed CHECKOUT...           the tests that failed, each with its message
 *   sum WAYS CHECKOUT...         checks that everything ran, Redis by each of these ways too, and prints the sum of all
 *                                reports as Surefire does; the first checkout is the one of the first pass
 * </pre>
 */
final class Reports {
    /** Folders of the first pass: unit tests, tests of whole processes. */
    private static final List<String> FIRST = List.of("surefire-reports", "failsafe-reports");

    private static final String LEFT_OUT = "left-out";
    private static final Pattern REDIS = Pattern.compile("Redis for tests: ([a-z]*)");
    private static final Pattern METHOD = Pattern.compile("[A-Za-z_$][\\w$]*");
    /** No package of Debian's brings a JDK with virtual threads. */
    private static final String NEEDS_NEWER_JDK = "VirtualThreadsIT";

    private Reports() {}

    private enum Result {
        PASSED,
        FAILED,
        ERROR,
        SKIPPED
    }

    /**
     * One executed or skipped test.
     *
     * @param folder such as {@code surefire-reports}
     * @param method empty if the whole class was skipped
     */
    private record Test(Path module, String folder, String type, String method, Result result, String message) {
        String name() {
            return method.isEmpty() ? type : type + "#" + method;
        }

        boolean isProcessTest() {
            return type.replaceFirst("\\$.*", "").endsWith("IT");
        }
    }

    private static final class Failed extends Exception {
        private static final long serialVersionUID = 1L;

        Failed(String message) {
            super(message);
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> rest = Arrays.asList(arguments).subList(1, arguments.length);
        try {
            switch (arguments[0]) {
                case "left-out-units" -> System.out.println(leftOut(rest, test -> !test.isProcessTest()));
                case "left-out-processes" -> System.out.println(leftOut(rest, Test::isProcessTest));
                case "failed" -> failed(checkouts(rest));
                case "sum" -> sum(List.of(rest.get(0).split(",")), checkouts(rest.subList(1, rest.size())));
                default -> throw new Failed("there is no verb " + arguments[0]);
            }
        } catch (Failed e) {
            System.err.println("ci: " + e.getMessage());
            System.exit(1);
        }
    }

    /** Those that were made: there may be no newer JDK. */
    private static List<Path> checkouts(List<String> names) {
        return names.stream().map(Path::of).filter(Files::isDirectory).toList();
    }

    /**
     * {@code A#first+second,B}; {@code none}, which no class is called, if there are none. A class of which nothing was executed is
     * named whole: its report does not list the methods with parameters.
     */
    private static String leftOut(List<String> checkout, Predicate<Test> wanted) throws IOException {
        Map<String, Set<String>> methods = new TreeMap<>();
        Set<String> begun = new TreeSet<>();
        for (Test test : all(Path.of(checkout.get(0)))) {
            if (!FIRST.contains(test.folder()) || !wanted.test(test)) {
                continue;
            }
            if (test.result() == Result.SKIPPED) {
                methods.computeIfAbsent(test.type(), type -> new TreeSet<>()).add(test.method());
            } else {
                begun.add(test.type());
            }
        }
        List<String> patterns = new ArrayList<>();
        methods.forEach((type, names) -> {
            String simple = type.substring(type.lastIndexOf('.') + 1);
            boolean whole = names.contains("") || !begun.contains(type);
            patterns.add(whole ? simple : simple + "#" + String.join("+", names));
        });
        return patterns.isEmpty() ? "none" : String.join(",", patterns);
    }

    private static void failed(List<Path> checkouts) throws IOException {
        for (Path checkout : checkouts) {
            for (Test test : all(checkout)) {
                if (test.result() == Result.FAILED || test.result() == Result.ERROR) {
                    System.out.println("ci:   " + test.name() + " (" + test.folder() + ")");
                    System.out.println("ci:     " + test.message());
                }
            }
        }
    }

    private static void sum(List<String> ways, List<Path> checkouts) throws IOException, Failed {
        Path first = checkouts.get(0);
        List<Test> tests = all(first);
        for (Path module : modules(first)) {
            String name = first.relativize(module).toString();
            require(executed(tests, module, FIRST.get(0)) > 0, name + ": the first pass executed 0 unit tests");
            require(
                    !hasProcessTests(module) || executed(tests, module, FIRST.get(1)) > 0,
                    name + ": the first pass executed 0 tests of whole processes");
        }
        requireRedis(first, tests, FIRST.get(0), "bundled");
        for (String way : ways) {
            requireRedis(first, tests, "redis-" + way, way);
        }
        requireLeftOutRan(tests);
        List<Test> whole = new ArrayList<>(tests);
        for (Path other : checkouts.subList(1, checkouts.size())) {
            List<Test> more = all(other);
            require(more.stream().anyMatch(test -> test.result() != Result.SKIPPED), other + ": executed 0 tests");
            whole.addAll(more);
        }
        // A test that was left out and then ran is counted once; short runs on smaller machines skip on purpose.
        List<Test> counted = whole.stream()
                .filter(test -> test.result() != Result.SKIPPED || test.type().endsWith(NEEDS_NEWER_JDK))
                .toList();
        System.out.println("[INFO] Tests run: " + counted.size() + ", Failures: " + count(counted, Result.FAILED)
                + ", Errors: " + count(counted, Result.ERROR) + ", Skipped: " + count(counted, Result.SKIPPED));
    }

    private static void requireLeftOutRan(List<Test> tests) throws Failed {
        Set<String> executed = new TreeSet<>();
        tests.stream()
                .filter(test -> test.folder().startsWith(LEFT_OUT) && test.result() != Result.SKIPPED)
                .forEach(test -> {
                    executed.add(test.name());
                    executed.add(test.type());
                });
        Set<String> missing = new LinkedHashSet<>();
        for (Test test : tests) {
            boolean leftOut = test.result() == Result.SKIPPED
                    && (FIRST.contains(test.folder()) || test.folder().startsWith(LEFT_OUT));
            if (leftOut && test.type().endsWith(NEEDS_NEWER_JDK)) {
                System.out.println("ci: no JDK of 21 or newer here; left out: " + test.name());
            } else if (leftOut && !executed.contains(test.name())) {
                missing.add(test.name());
            } else if (test.folder().startsWith(LEFT_OUT) && test.result() == Result.SKIPPED) {
                missing.add(test.name() + " (" + test.message() + ")");
            }
        }
        require(missing.isEmpty(), "skipped although all that tests need is installed: " + String.join(", ", missing));
    }

    /** Every module with a short Redis test has reports in {@code folder}, and they name this way and no other. */
    private static void requireRedis(Path checkout, List<Test> tests, String folder, String way)
            throws IOException, Failed {
        for (Path module : modules(checkout)) {
            if (!mentions(module, "@Tag(\"redis-smoke\")")) {
                continue;
            }
            String name = checkout.relativize(module) + ", " + folder;
            require(executed(tests, module, folder) > 0, name + ": executed 0 tests");
            Set<String> ways = new TreeSet<>();
            for (Path report : reports(module.resolve("target").resolve(folder))) {
                Matcher said = REDIS.matcher(Files.readString(report));
                while (said.find()) {
                    ways.add(said.group(1));
                }
            }
            System.out.println("ci: " + name + ": Redis by " + ways);
            require(ways.equals(Set.of(way)), name + ": Redis should have come by " + way);
        }
    }

    private static void require(boolean right, String otherwise) throws Failed {
        if (!right) {
            throw new Failed(otherwise);
        }
    }

    private static long executed(List<Test> tests, Path module, String folder) {
        long executed = tests.stream()
                .filter(test -> test.module().equals(module) && test.folder().equals(folder))
                .filter(test -> test.result() != Result.SKIPPED)
                .count();
        System.out.println("ci: " + module + "/target/" + folder + ": " + executed + " tests");
        return executed;
    }

    private static long count(List<Test> tests, Result result) {
        return tests.stream().filter(test -> test.result() == result).count();
    }

    /** The folders with tests, whatever the root's pom lists; some take their tests from another module. */
    private static List<Path> modules(Path checkout) throws IOException {
        List<Path> modules = new ArrayList<>();
        try (Stream<Path> files = Files.find(checkout, 6, (path, attributes) -> path.endsWith("pom.xml"))) {
            for (Path pom : files.sorted().toList()) {
                boolean built = checkout.relativize(pom).toString().contains("target");
                if (!built
                        && (Files.isDirectory(sources(pom.getParent()))
                                || Files.readString(pom).contains("<testSourceDirectory>"))) {
                    modules.add(pom.getParent());
                }
            }
        }
        return modules;
    }

    private static Path sources(Path module) {
        return module.resolve("src/test/java");
    }

    private static boolean hasProcessTests(Path module) throws IOException {
        return hasSource(module, file -> file.toString().endsWith("IT.java"));
    }

    private static boolean mentions(Path module, String text) throws IOException {
        return hasSource(module, file -> {
            try {
                return file.toString().endsWith(".java") && Files.readString(file).contains(text);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static boolean hasSource(Path module, Predicate<Path> wanted) throws IOException {
        if (!Files.isDirectory(sources(module))) {
            return false;
        }
        try (Stream<Path> files = Files.walk(sources(module))) {
            return files.anyMatch(wanted);
        }
    }

    private static List<Path> reports(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().matches("TEST-.*\\.xml"))
                    .sorted()
                    .toList();
        }
    }

    private static List<Test> all(Path checkout) throws IOException {
        List<Test> tests = new ArrayList<>();
        for (Path module : modules(checkout)) {
            if (!Files.isDirectory(module.resolve("target"))) {
                continue;
            }
            try (Stream<Path> folders = Files.list(module.resolve("target"))) {
                for (Path folder : folders.filter(Files::isDirectory).sorted().toList()) {
                    for (Path report : reports(folder)) {
                        read(module, folder.getFileName().toString(), report, tests);
                    }
                }
            }
        }
        return tests;
    }

    private static void read(Path module, String folder, Path report, List<Test> tests) throws IOException {
        XMLInputFactory factory = XMLInputFactory.newFactory();
        factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
        try (InputStream in = Files.newInputStream(report)) {
            XMLStreamReader xml = factory.createXMLStreamReader(in);
            String type = "";
            String name = "";
            String message = "";
            Result result = Result.PASSED;
            while (xml.hasNext()) {
                int event = xml.next();
                String element = event == XMLStreamConstants.START_ELEMENT || event == XMLStreamConstants.END_ELEMENT
                        ? xml.getLocalName()
                        : "";
                if (event == XMLStreamConstants.START_ELEMENT) {
                    switch (element) {
                        case "testcase" -> {
                            type = attribute(xml, "classname");
                            name = attribute(xml, "name");
                            message = "";
                            result = Result.PASSED;
                        }
                        case "failure" -> result = Result.FAILED;
                        case "error" -> result = Result.ERROR;
                        case "skipped" -> result = Result.SKIPPED;
                        default -> {
                            continue;
                        }
                    }
                    if (!element.equals("testcase")) {
                        message = attribute(xml, "message").lines().findFirst().orElse("");
                    }
                } else if (event == XMLStreamConstants.END_ELEMENT && element.equals("testcase")) {
                    tests.add(new Test(module, folder, type, method(name), result, message));
                }
            }
        } catch (XMLStreamException e) {
            throw new IOException(report + " is not a whole report: " + e.getMessage(), e);
        }
    }

    private static String attribute(XMLStreamReader xml, String name) {
        String value = xml.getAttributeValue(null, name);
        return value == null ? "" : value;
    }

    /** {@code method(String)[2]} is the method {@code method}; a class that was skipped as a whole has none. */
    private static String method(String name) {
        Matcher method = METHOD.matcher(name);
        return method.lookingAt() && (method.end() == name.length() || "({[".indexOf(name.charAt(method.end())) >= 0)
                ? method.group()
                : "";
    }
}
