package dev.palisade.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** The tests of this module run with the libraries that a user of this Boot gets, not with those that Palisade pins. */
class BootVersionsTest {
    /** A jar of the local repository, whose path says what it is. */
    private record Jar(String group, String artifact, String version) {}

    /** Groups whose imported BOM has the version of all its artifacts; others have calendar versions or several. */
    private static final Set<String> ONE_VERSION = Set.of("org.springframework", "io.grpc", "com.google.protobuf");

    @Test
    void everyManagedJarHasBootsVersion() throws Exception {
        Path repository = repository();
        Map<String, String> managed = managed(repository);
        TreeSet<String> compared = new TreeSet<>();
        List<String> different = new ArrayList<>();
        for (Jar jar : jars(repository)) {
            String version =
                    managed.getOrDefault(jar.group() + ":" + jar.artifact(), managed.getOrDefault(jar.group(), ""));
            if (!version.isEmpty()) {
                compared.add(jar.artifact());
                if (!version.equals(jar.version())) {
                    different.add(jar + " is " + version + " in Boot's management");
                }
            }
        }
        assertThat(different).isEmpty();
        assertThat(compared)
                .contains("spring-tx", "hibernate-core", "HikariCP", "h2", "postgresql", "gson", "slf4j-api");
    }

    private static Path repository() throws Exception {
        String jar = SpringApplication.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI()
                .getPath();
        return Path.of(jar.substring(0, jar.indexOf("/org/springframework/boot/")));
    }

    private static List<Jar> jars(Path repository) {
        List<Jar> jars = new ArrayList<>();
        String path = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        for (String entry : path.split(File.pathSeparator, -1)) {
            Path jar = Path.of(entry);
            if (jar.startsWith(repository)) {
                Path parts = repository.relativize(jar);
                int n = parts.getNameCount();
                jars.add(new Jar(
                        parts.subpath(0, n - 3).toString().replace(File.separatorChar, '.'),
                        parts.getName(n - 3).toString(),
                        parts.getName(n - 2).toString()));
            }
        }
        return jars;
    }

    /** Versions by {@code group:artifact}; those of an imported BOM by its group. */
    private static Map<String, String> managed(Path repository) throws Exception {
        String boot = SpringBootVersion.getVersion();
        File bom = repository
                .resolve("org/springframework/boot/spring-boot-dependencies")
                .resolve(boot)
                .resolve("spring-boot-dependencies-" + boot + ".pom")
                .toFile();
        Element project = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(bom)
                .getDocumentElement();
        Map<String, String> properties = new HashMap<>();
        NodeList values = project.getElementsByTagName("properties").item(0).getChildNodes();
        for (int i = 0; i < values.getLength(); i++) {
            Node value = values.item(i);
            properties.put("${" + value.getNodeName() + "}", value.getTextContent());
        }
        Map<String, String> managed = new HashMap<>();
        Element management =
                (Element) project.getElementsByTagName("dependencyManagement").item(0);
        NodeList dependencies = management.getElementsByTagName("dependency");
        for (int i = 0; i < dependencies.getLength(); i++) {
            Element dependency = (Element) dependencies.item(i);
            String version = properties.getOrDefault(text(dependency, "version"), text(dependency, "version"));
            boolean imported = text(dependency, "scope").equals("import");
            String group = text(dependency, "groupId");
            if (!imported) {
                managed.put(group + ":" + text(dependency, "artifactId"), version);
            } else if (ONE_VERSION.contains(group)) {
                managed.put(group, version);
            }
        }
        managed.put("org.junit.jupiter", properties.getOrDefault("${junit-jupiter.version}", ""));
        return managed;
    }

    private static String text(Element dependency, String tag) {
        Node node = dependency.getElementsByTagName(tag).item(0);
        return node == null ? "" : node.getTextContent();
    }
}
