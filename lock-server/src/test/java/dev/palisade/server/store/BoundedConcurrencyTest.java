package dev.palisade.server.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BoundedConcurrencyTest {
    private final List<Integer> asked = new ArrayList<>();
    private final List<CompletableFuture<Void>> answers = new ArrayList<>();

    private static List<Integer> numbers(int count) {
        return IntStream.range(0, count).boxed().toList();
    }

    private CompletableFuture<Void> ask(int number) {
        asked.add(number);
        CompletableFuture<Void> answer = new CompletableFuture<>();
        answers.add(answer);
        return answer;
    }

    @Test
    void theNextIsAskedForWhenOneOfTheLastIsAnswered() {
        CompletableFuture<?> all =
                BoundedConcurrency.forEach(2, numbers(4), this::ask).toCompletableFuture();
        assertThat(asked).containsExactly(0, 1);
        answers.get(1).complete(null);
        assertThat(asked).containsExactly(0, 1, 2);
        answers.get(2).completeExceptionally(new IllegalStateException("failed"));
        assertThat(asked).containsExactly(0, 1, 2, 3);
        answers.get(3).complete(null);
        assertThat(all).isNotDone();
        answers.get(0).complete(null);
        assertThat(all).isCompletedWithValue(null);
    }

    @Test
    void noneAreDoneAtOnce() {
        assertThat(BoundedConcurrency.forEach(5, List.<Integer>of(), this::ask).toCompletableFuture())
                .isDone();
    }

    @Test
    void manyThatAreAnsweredAtOnceCostNoDepth() {
        assertThat(BoundedConcurrency.forEach(
                                1, numbers(1_000_000), number -> CompletableFuture.completedFuture(number))
                        .toCompletableFuture())
                .isDone();
    }
}
