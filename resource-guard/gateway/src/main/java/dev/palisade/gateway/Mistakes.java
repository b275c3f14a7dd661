package dev.palisade.gateway;

import dev.palisade.contract.RejectedException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.nodes.Node;

/** List of the mistakes in one config file, each with its line. All of the file is read before any is reported. */
final class Mistakes {
    private record Mistake(int line, String text) {}

    private final String file;
    private final List<Mistake> found = new ArrayList<>();

    /** @param file as the user wrote it */
    Mistakes(String file) {
        this.file = file;
    }

    /** @param text what is wrong and what to do, without a full stop */
    void add(Node where, String text) {
        add(line(where), text);
    }

    void add(int line, String text) {
        found.add(new Mistake(line, text));
    }

    /** What {@code parsing} returns; a mistake at {@code where}, and null, when it throws. */
    <T> @Nullable T catching(Node where, Supplier<T> parsing) {
        try {
            return parsing.get();
        } catch (RejectedException e) {
            add(where, e.rejection().message());
        } catch (IllegalArgumentException e) {
            add(where, String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
        return null;
    }

    boolean isEmpty() {
        return found.isEmpty();
    }

    /** {@code FILE:LINE: TEXT}, in the order of the file. */
    List<String> lines() {
        return found.stream()
                .sorted(Comparator.comparingInt(Mistake::line))
                .map(mistake -> file + ":" + mistake.line() + ": " + mistake.text())
                .toList();
    }

    /** Counted from 1. */
    static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(0) + 1;
    }
}
