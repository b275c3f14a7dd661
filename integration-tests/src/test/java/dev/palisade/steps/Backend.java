package dev.palisade.steps;

import dev.palisade.check.AppliedCall;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The process of {@link LoggedService}, and what it has printed. Safe for many threads. */
final class Backend implements AutoCloseable {
    private final Path log;
    private final Service service;
    private final Set<String> events = ConcurrentHashMap.newKeySet();

    Backend(Installation installation) {
        log = installation.home().resolve("applied");
        service = installation.service("backend", LoggedService.class, List.of(), events::add, log.toString());
    }

    String address() {
        return service.address();
    }

    /** The next write of {@code key} stops there. */
    void hold(String key, LoggedService.Step step) {
        service.child().send("hold " + key + " " + step);
    }

    boolean isHeld(String key) {
        return events.contains("held " + key);
    }

    /** The write continues, or is not stopped; after {@code deadlineNanos} nothing of it is applied. */
    void go(String key, long deadlineNanos) {
        service.child().send("go " + key + " " + deadlineNanos);
    }

    boolean hasApplied(String content) {
        return applied().stream().anyMatch(call -> call.contentHash().equals(content));
    }

    boolean hasRead(String key) {
        return applied().stream().anyMatch(call -> !call.write() && call.key().equals(key));
    }

    /** What was applied, in order. */
    List<AppliedCall> applied() {
        List<AppliedCall> calls = new ArrayList<>();
        try {
            String lines = Files.exists(log) ? Files.readString(log) : "";
            for (String line :
                    lines.substring(0, lines.lastIndexOf('\n') + 1).lines().toList()) {
                String[] words = line.split("\t", -1);
                calls.add(new AppliedCall(
                        calls.size() + 1L,
                        words[1],
                        words[1],
                        words[0].equals("W"),
                        false,
                        Long.parseLong(words[2]),
                        words[3],
                        words[4]));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return calls;
    }

    @Override
    public void close() {
        service.child().kill();
    }
}
