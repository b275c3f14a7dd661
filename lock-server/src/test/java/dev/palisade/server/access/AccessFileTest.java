package dev.palisade.server.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.LocalDate;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AccessFileTest {
    @TempDir
    Path folder;

    private Path path;

    @BeforeEach
    void write() throws Exception {
        path = Files.writeString(folder.resolve("policy"), "allow a acquire x\n");
    }

    private static boolean allows(AccessFile<Policy> file, String who) {
        return file.value().rights(who).may(Verb.ACQUIRE, "x");
    }

    @Test
    void newContentIsUsedWhenTwoReadsFindIt() throws Exception {
        AccessFile<Policy> file = new AccessFile<>(path, false, Policy::parse);
        assertThat(file.reload()).isFalse();
        Files.writeString(path, "allow b acquire x\n");
        assertThat(file.reload()).isFalse();
        Files.writeString(path, "allow b acquire x\nallow c acquire x\n");
        assertThat(file.reload()).isFalse();
        assertThat(allows(file, "a")).isTrue();
        assertThat(file.reload()).isTrue();
        assertThat(allows(file, "a")).isFalse();
        assertThat(allows(file, "c")).isTrue();
        assertThat(file.reload()).isFalse();
    }

    @Test
    void aBrokenFileKeepsTheLastGoodOneAndIsReportedOnce() throws Exception {
        AccessFile<Policy> file = new AccessFile<>(path, false, Policy::parse);
        Files.writeString(path, "alow b acquire x\n");
        assertThat(file.reload()).isFalse();
        assertThatThrownBy(file::reload).isInstanceOf(FileMistakes.class).hasMessageContaining(":1: 'alow'");
        assertThat(file.reload()).isFalse();
        Files.delete(path);
        assertThat(file.reload()).isFalse();
        assertThatThrownBy(file::reload).hasMessageContaining("does not exist");
        assertThat(file.reload()).isFalse();
        assertThat(allows(file, "a")).isTrue();
        assertThat(file.isUsable()).isFalse();
        Files.writeString(path, "allow b acquire x\n");
        assertThat(file.reload()).isFalse();
        assertThat(file.reload()).isTrue();
        assertThat(allows(file, "b")).isTrue();
        assertThat(file.isUsable()).isTrue();
    }

    /** By a full disk, or half a copy: then nobody could do anything. */
    @Test
    void anEmptiedFileKeepsTheLastGoodOneUntilItSaysSomething() throws Exception {
        AccessFile<Policy> file = new AccessFile<>(path, false, Policy::parse);
        Files.writeString(path, "\n");
        assertThat(file.reload()).isFalse();
        assertThatThrownBy(file::reload)
                .hasMessageContaining("is empty; if that is meant, write a comment into it: # nobody");
        assertThat(allows(file, "a")).isTrue();
        assertThat(file.isUsable()).isFalse();
        assertThatThrownBy(() -> new AccessFile<>(path, false, Policy::parse)).hasMessageContaining("is empty");
        Files.writeString(path, "# nobody\n");
        assertThat(file.reload()).isFalse();
        assertThat(file.reload()).isTrue();
        assertThat(allows(file, "a")).isFalse();
    }

    @Test
    void aFileThatOthersCouldChangeIsRefused() throws Exception {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-r--"));
        assertThatThrownBy(() -> new AccessFile<>(path, false, Policy::parse))
                .hasMessageContaining("can be written by others (rw-rw-r--); chmod 644");
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r--r--"));
        assertThat(allows(new AccessFile<>(path, false, Policy::parse), "a")).isTrue();
        Path users = folder.resolve("users");
        UserTokens.add(users, "a", new byte[UserTokens.TOKEN_BYTES], LocalDate.EPOCH);
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(users)))
                .isEqualTo("rw-------");
        Files.setPosixFilePermissions(users, PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> new AccessFile<>(users, true, UserTokens::parse))
                .hasMessageContaining("can be read by others (rw-r--r--); chmod 600");
    }

    @Test
    void whatIsNoPolicyFileIsRefusedInOneLine() throws Exception {
        assertThatThrownBy(() -> new AccessFile<>(folder, false, Policy::parse))
                .hasMessageContaining("no regular file");
        Path binary = Files.write(folder.resolve("binary"), new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        assertThatThrownBy(() -> new AccessFile<>(binary, false, Policy::parse)).hasMessageContaining("not UTF-8 text");
        Path large = Files.write(folder.resolve("large"), new byte[(4 << 20) + 1]);
        assertThatThrownBy(() -> new AccessFile<>(large, false, Policy::parse)).hasMessageContaining("more than 4 MiB");
    }

    @Test
    void aTokenIsFoundByItsHashAndKeptNowhere() throws Exception {
        Path users = folder.resolve("users");
        Set<String> tokens = new HashSet<>();
        for (byte i = 0; i < 10; i++) {
            byte[] random = new byte[UserTokens.TOKEN_BYTES];
            random[0] = i;
            tokens.add(UserTokens.add(users, i % 2 == 0 ? "even" : "odd", random, LocalDate.of(2026, 1, 2)));
        }
        assertThat(tokens).hasSize(10).allMatch(token -> token.matches("palisade_[A-Za-z0-9_-]{43}"));
        String text = Files.readString(users);
        assertThat(text.lines()).hasSize(10).allMatch(line -> line.matches("(even|odd) [0-9a-f]{64} 2026-01-02"));
        UserTokens read = UserTokens.parse(users, text);
        assertThat(tokens).allSatisfy(token -> {
            assertThat(read.nameOf(token)).isPresent();
            assertThat(text).doesNotContain(token.substring(10));
        });
        assertThat(read.nameOf("palisade_" + "A".repeat(43))).contains("even");
        assertThat(read.nameOf("palisade_" + "B".repeat(43))).isEmpty();
        assertThat(read.has("odd")).isTrue();
        assertThat(read.has("other")).isFalse();
        assertThatThrownBy(() -> UserTokens.add(users, "two words", new byte[32], LocalDate.EPOCH))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aPastedTokenInTheUsersFileIsNotRepeated() {
        String token = "palisade_" + "A".repeat(43);
        assertThatThrownBy(() -> UserTokens.parse(Path.of("users"), "# ok\nalice " + token + "\n"))
                .hasMessageStartingWith("users:2: not a user; each line is NAME SHA-256 DATE")
                .hasMessageNotContaining("AAAA");
    }
}
