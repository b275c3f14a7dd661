package dev.palisade.faults;

import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The locks of a random run, each of which guards the object of its name: two that everybody wants, and others.
 *
 * @param total how many, at least 3
 */
record Locks(int total) {
    private static final int HOT = 2;

    List<String> names() {
        return Stream.concat(
                        IntStream.range(0, HOT).mapToObj(i -> "hot/" + i),
                        IntStream.range(HOT, total).mapToObj(i -> "counter/" + i))
                .toList();
    }

    /** The one that most want. */
    String hottest() {
        return names().get(0);
    }

    /** One of them; two times of three one that everybody wants. */
    String any(Random random) {
        int which = random.nextInt(3) > 0 ? random.nextInt(HOT) : HOT + random.nextInt(total - HOT);
        return names().get(which);
    }
}
