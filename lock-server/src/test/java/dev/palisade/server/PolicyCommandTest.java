package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.cli.Commands;
import dev.palisade.server.access.UserTokens;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PolicyCommandTest {
    @Test
    void checkWithUsersExitsByWhetherAllNamesHaveTokens(@TempDir Path folder) throws Exception {
        String policy = Files.writeString(folder.resolve("policy"), "allow web acquire x\n")
                .toString();
        Path users = folder.resolve("users");
        UserTokens.add(users, "ops", new byte[UserTokens.TOKEN_BYTES], LocalDate.EPOCH);
        String[] check = {"check", policy, "--users", users.toString()};
        assertThat(run(1, check))
                .contains("1 line that allows", policy + ":1: no user has the name web; make its token");
        UserTokens.add(
                users, "web", "x".repeat(UserTokens.TOKEN_BYTES).getBytes(StandardCharsets.US_ASCII), LocalDate.EPOCH);
        assertThat(run(0, check).lines()).hasSize(1);
        Files.writeString(users, "no user");
        assertThat(run(3, check)).contains(users + ":1: not a user");
        assertThat(run(2, "check", policy, "--users", users.toString(), "--as", "web"))
                .contains("--users");
    }

    private static String run(int exitCode, String... arguments) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = System.out;
        PrintStream err = System.err;
        try (PrintStream into = new PrintStream(printed, true, StandardCharsets.UTF_8)) {
            System.setOut(into);
            System.setErr(into);
            assertThat(Commands.run(new PolicyCommand(), arguments)).isEqualTo(exitCode);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }
}
