package dev.palisade.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Rules and dashboard name metrics that there are, and the rules' test names every rule. */
class OpsFilesTest {
    private static Set<String> ours(String text) {
        return OpsFiles.named(text).stream()
                .filter(name -> name.startsWith("palisade_"))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void rulesNameMetricsOfTheCatalogue() throws Exception {
        for (var file : List.of(OpsFiles.RULES, OpsFiles.RULES_TEST)) {
            assertThat(ours(Files.readString(file))).as("%s", file).isNotEmpty().isSubsetOf(OpsFiles.wholeCatalogue());
        }
    }

    @Test
    void theDashboardNamesMetricsOfTheCatalogueAndLeavesNoneOut() throws Exception {
        Set<String> named = ours(String.join("\n", OpsFiles.queries()));
        assertThat(named).isSubsetOf(OpsFiles.catalogue());
        Set<String> shown = named.stream()
                .map(name -> name.replaceFirst("_(bucket|count|sum|max)$", ""))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(OpsFiles.catalogue().stream().map(name -> name.replaceFirst("_(bucket|count|sum|max)$", "")))
                .allSatisfy(name -> assertThat(shown).contains(name));
    }

    @Test
    void everyAlertIsInTheTestOfTheRules() throws Exception {
        List<String> alerts = Pattern.compile("- alert: (\\w+)")
                .matcher(Files.readString(OpsFiles.RULES))
                .results()
                .map(match -> match.group(1))
                .toList();
        assertThat(alerts).hasSizeGreaterThan(10).doesNotHaveDuplicates();
        String test = Files.readString(OpsFiles.RULES_TEST);
        assertThat(alerts)
                .allSatisfy(alert -> assertThat(test).contains("alertname=\"" + alert + "\", instance=\"b:1\""));
    }

    @Test
    void manifestsAreYamlAndTheirOptionsAreOfTheServer() throws Exception {
        String settings = Files.readString(OpsFiles.ROOT.resolve("docs/reference/settings.md"));
        String ofTheServer = settings.substring(settings.indexOf("\n## palisade server\n"));
        ofTheServer = ofTheServer.substring(0, ofTheServer.indexOf("\n## ", 1));
        String server = Files.readString(OpsFiles.ROOT.resolve("ops/kubernetes/lock-server.yaml"));
        String client = Files.readString(OpsFiles.ROOT.resolve("ops/kubernetes/client.yaml"));
        for (String manifest : List.of(server, client)) {
            assertThat(new Load(LoadSettings.builder().build()).loadAllFromString(manifest))
                    .hasSize(2)
                    .allSatisfy(each -> assertThat(each).isInstanceOf(Map.class));
        }
        List<String> options = Pattern.compile("- (--[a-z-]+)=")
                .matcher(server)
                .results()
                .map(match -> "`" + match.group(1) + "`")
                .toList();
        assertThat(options).hasSizeGreaterThan(8);
        assertThat(ofTheServer).contains(options);
    }
}
