package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostNameTest {
    @TempDir
    Path directory;

    @Test
    void theVariableWinsThenTheFilesThenTheResolver() throws Exception {
        Path none = directory.resolve("none");
        Path kernel = Files.writeString(directory.resolve("kernel"), "vm-7\n");
        Map<String, String> pod = Map.of("HOSTNAME", "orders-5d9f-x2x");
        assertThat(HostName.of(pod, List.of(kernel), () -> "resolved")).isEqualTo("orders-5d9f-x2x");
        assertThat(HostName.of(Map.of("HOSTNAME", " "), List.of(none, kernel), () -> "resolved"))
                .isEqualTo("vm-7");
        assertThat(HostName.of(Map.of(), List.of(none), () -> "resolved")).isEqualTo("resolved");
    }

    @Test
    void aStrangeNameIsMadePlainAndShort() {
        assertThat(HostName.of(Map.of("HOSTNAME", "büro\u001b[31m"), List.of(), () -> ""))
                .isEqualTo("b?ro??31m");
        assertThat(HostName.of(Map.of("HOSTNAME", "x".repeat(500)), List.of(), () -> ""))
                .hasSize(100);
    }

    @Test
    void thisProcessIsToldApartFromItsNamesakeElsewhere() {
        assertThat(HostName.here()).matches("[A-Za-z0-9._?-]{1,100}");
        assertThat(HostName.withPid())
                .isEqualTo(HostName.here() + " pid " + ProcessHandle.current().pid());
    }
}
