package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.FakePalisade;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.HolderInfo;
import dev.palisade.contract.LostReason;
import dev.palisade.contract.PalisadeException;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The page of the client's API names every public type and method of the SDK and its fake, in the type's own section. */
class ApiPagesTest {
    private static final String PAGE = "docs/reference/client-api.md";
    private static final Set<String> OF_EVERY_RECORD_AND_ENUM =
            Set.of("equals", "hashCode", "toString", "values", "valueOf");

    @TestFactory
    Stream<DynamicTest> everyPublicMethodIsInTheSectionOfItsType() throws Exception {
        return types().stream()
                .map(type -> DynamicTest.dynamicTest(name(type), () -> {
                    String section = section(type);
                    assertThat(section)
                            .as("a section for %s on %s", name(type), PAGE)
                            .isNotEmpty();
                    assertThat(methods(type))
                            .as("public methods of %s", name(type))
                            .allSatisfy(method -> assertThat(section)
                                    .as("%s in the section of %s", method, name(type))
                                    .containsPattern("`" + method + "\\("));
                    assertThat(constants(type))
                            .allSatisfy(constant -> assertThat(section).contains("`" + constant + "`"));
                }));
    }

    @Test
    void theTypesOfBothJarsAreFound() throws Exception {
        assertThat(types()).contains(PalisadeClient.class, PalisadeClient.Builder.class, FakePalisade.class);
        assertThat(types()).hasSizeGreaterThan(25);
    }

    private static Set<String> methods(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .map(Method::getName)
                .filter(method -> !OF_EVERY_RECORD_AND_ENUM.contains(method))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<String> constants(Class<?> type) {
        return type.isEnum()
                ? Arrays.stream(type.getEnumConstants()).map(Object::toString).toList()
                : List.of();
    }

    /** The section whose heading names the type, else the one whose heading names what it is nested in. */
    private static String section(Class<?> type) {
        Matcher heading = Pattern.compile("^## (.*)$", Pattern.MULTILINE).matcher(Docs.page(PAGE));
        String page = Docs.page(PAGE);
        String outer = "";
        while (heading.find()) {
            String text = page.substring(heading.end()).split("\n## ", 2)[0];
            if (heading.group(1).contains("`" + name(type) + "`")
                    || (PalisadeException.class.isAssignableFrom(type)
                            && heading.group(1).equals("Exceptions"))) {
                return text;
            }
            Class<?> around = type.getEnclosingClass();
            if (around != null && heading.group(1).contains("`" + name(around) + "`")) {
                outer = text;
            }
        }
        return outer.contains("`" + type.getSimpleName() + "`") || outer.contains("`" + name(type) + "`") ? outer : "";
    }

    private static String name(Class<?> type) {
        Class<?> around = type.getEnclosingClass();
        return around == null ? type.getSimpleName() : name(around) + "." + type.getSimpleName();
    }

    private static List<Class<?>> types() throws Exception {
        Stream<Class<?>> ofContract = Stream.concat(
                Stream.of(PalisadeException.class, LostReason.class, HolderInfo.class),
                Arrays.stream(PalisadeException.class.getPermittedSubclasses()));
        return Stream.concat(
                        ofContract,
                        Stream.concat(inJarOf(PalisadeClient.class).stream(), inJarOf(FakePalisade.class).stream()))
                .distinct()
                .toList();
    }

    private static List<Class<?>> inJarOf(Class<?> one) throws IOException, URISyntaxException {
        URI source = one.getProtectionDomain().getCodeSource().getLocation().toURI();
        String folder = one.getPackageName().replace('.', '/');
        if (source.getPath().endsWith(".jar")) {
            try (FileSystem jar = FileSystems.newFileSystem(Path.of(source))) {
                return publicIn(jar.getPath(folder), one.getPackageName());
            }
        }
        return publicIn(Path.of(source).resolve(folder), one.getPackageName());
    }

    private static List<Class<?>> publicIn(Path folder, String packageName) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(".class") && !file.equals("package-info.class"))
                    .<Class<?>>map(file -> type(packageName + "." + file.substring(0, file.length() - 6)))
                    .filter(ApiPagesTest::isPublic)
                    .toList();
        }
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name, false, ApiPagesTest.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isPublic(Class<?> type) {
        return Modifier.isPublic(type.getModifiers())
                && !type.isAnonymousClass()
                && (type.getEnclosingClass() == null || isPublic(type.getEnclosingClass()));
    }
}
