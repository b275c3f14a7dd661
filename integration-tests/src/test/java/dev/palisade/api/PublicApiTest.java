package dev.palisade.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.client.FakePalisade;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.FencingToken;
import dev.palisade.guard.Guard;
import dev.palisade.guard.redis.FencedRedis;
import dev.palisade.guard.s3.FencedS3;
import dev.palisade.micrometer.ClientMetrics;
import dev.palisade.opentelemetry.ClientTracing;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The public API of the libraries is the one that was written down: every change of a type or signature shows as a change of a
 * file. An intended change: {@code -Dpalisade.api.write=true} writes the files anew; name it in CHANGELOG.md.
 */
class PublicApiTest {
    private static final Path WRITTEN = Path.of("src/test/resources/dev/palisade/api");

    /** A library that applications depend on. */
    enum Library {
        CONTRACT(FencingToken.class),
        CLIENT(PalisadeClient.class),
        FAKE(FakePalisade.class),
        GUARD(Guard.class),
        GUARD_REDIS(FencedRedis.class),
        GUARD_S3(FencedS3.class),
        MICROMETER(ClientMetrics.class),
        OPENTELEMETRY(ClientTracing.class);

        private final Class<?> one;

        Library(Class<?> one) {
            this.one = one;
        }

        Path file() {
            return WRITTEN.resolve(name().toLowerCase(java.util.Locale.ROOT) + ".txt");
        }
    }

    @ParameterizedTest
    @EnumSource
    void publicApiIsAsWrittenDown(Library library) throws Exception {
        List<String> api = api(library.one);
        if (Boolean.getBoolean("palisade.api.write")) {
            Files.createDirectories(WRITTEN);
            Files.write(library.file(), api);
        }
        assertThat(api)
                .as("public API, see " + library.file())
                .containsExactlyElementsOf(Files.readAllLines(library.file()));
    }

    private static List<String> api(Class<?> one) throws IOException, URISyntaxException {
        URI source = one.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path place = Path.of(source);
        if (Files.isDirectory(place)) {
            return api(one, place);
        }
        try (FileSystem jar = FileSystems.newFileSystem(URI.create("jar:" + source), Map.of())) {
            return api(one, jar.getPath("/"));
        }
    }

    private static List<String> api(Class<?> one, Path root) throws IOException {
        List<String> names;
        try (Stream<Path> files = Files.walk(root)) {
            names = files.map(file -> root.relativize(file).toString())
                    .filter(name -> name.endsWith(".class") && !name.endsWith("-info.class"))
                    .map(name ->
                            name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .filter(name -> !isOurs(name))
                    .sorted()
                    .toList();
        }
        List<String> api = new ArrayList<>();
        for (String name : names) {
            Class<?> type = load(name, one.getClassLoader());
            if (isVisible(type)) {
                api.add(declaration(type) + supertypes(type));
                members(type)
                        .map(member -> member.replace("synchronized ", ""))
                        .sorted()
                        .forEach(member -> api.add("    " + member));
            }
        }
        return api;
    }

    /** Generated, or shared by our own programs only. */
    private static boolean isOurs(String name) {
        return name.startsWith("dev.palisade.proto.")
                || name.startsWith("dev.palisade.contract.cli.")
                || name.startsWith("dev.palisade.contract.files.");
    }

    private static Class<?> load(String name, ClassLoader loader) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException e) {
            throw new LinkageError(name, e);
        }
    }

    private static boolean isVisible(Class<?> type) {
        Class<?> outer = type.getEnclosingClass();
        return Modifier.isPublic(type.getModifiers())
                && !type.isAnonymousClass()
                && !type.isLocalClass()
                && (outer == null || isVisible(outer));
    }

    /** A newer JDK says of itself that a type is sealed. */
    private static String declaration(Class<?> type) {
        String declared = type.toGenericString().replace("non-sealed ", "").replace("sealed ", "");
        return type.isSealed() ? "sealed " + declared : declared;
    }

    private static String supertypes(Class<?> type) {
        String all = Stream.concat(
                        Stream.ofNullable(type.getGenericSuperclass()), Arrays.stream(type.getGenericInterfaces()))
                .map(java.lang.reflect.Type::getTypeName)
                .filter(name -> !name.equals("java.lang.Object"))
                .collect(Collectors.joining(", "));
        return all.isEmpty() ? "" : " : " + all;
    }

    private static Stream<String> members(Class<?> type) {
        Stream<String> fields = Arrays.stream(type.getDeclaredFields())
                .filter(field -> isOffered(field.getModifiers()) && !field.isSynthetic())
                .map(Field::toGenericString);
        Stream<String> constructors = Arrays.stream(type.getDeclaredConstructors())
                .filter(PublicApiTest::isOffered)
                .map(Constructor::toGenericString);
        Stream<String> methods = Arrays.stream(type.getDeclaredMethods())
                .filter(PublicApiTest::isOffered)
                .map(Method::toGenericString);
        return Stream.of(fields, constructors, methods).flatMap(all -> all);
    }

    private static boolean isOffered(Executable member) {
        return isOffered(member.getModifiers()) && !member.isSynthetic();
    }

    private static boolean isOffered(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }
}
