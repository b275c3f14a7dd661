package dev.palisade.server;

import dev.palisade.server.access.AccessControl;
import dev.palisade.server.access.AccessFile;
import dev.palisade.server.access.Policy;
import dev.palisade.server.access.UserTokens;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.List;

/** A policy, and a token for each name, in files of a test. */
final class AdminUsers {
    private final Path policy;
    private final Path users;

    AdminUsers(Path folder, List<String> lines) throws Exception {
        policy = Files.write(folder.resolve("policy.conf"), lines);
        users = folder.resolve("users");
    }

    Path policy() {
        return policy;
    }

    Path file() {
        return users;
    }

    /** Its token. */
    String add(String name) throws Exception {
        byte[] random = Arrays.copyOf(name.getBytes(StandardCharsets.UTF_8), UserTokens.TOKEN_BYTES);
        return UserTokens.add(users, name, random, LocalDate.EPOCH);
    }

    /** In the files only, until {@link AccessControl#reload} was called twice. */
    void remove(String name) throws Exception {
        List<String> lines = Files.readAllLines(users).stream()
                .filter(line -> !line.startsWith(name + " "))
                .toList();
        Files.write(users, lines);
    }

    AccessControl load() throws Exception {
        return new AccessControl(
                new AccessFile<>(policy, false, Policy::parse),
                new AccessFile<>(users, true, UserTokens::parse),
                null,
                () -> 1);
    }
}
