package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class KeepAlivesTest {
    private final List<Long> begun = new ArrayList<>();
    private final List<CompletableFuture<Void>> answers = new ArrayList<>();
    private int leftOut;
    private final KeepAlives keepAlives = new KeepAlives(
            id -> {
                begun.add(id);
                CompletableFuture<Void> answer = new CompletableFuture<>();
                answers.add(answer);
                return answer;
            },
            () -> leftOut++);

    @Test
    void oneIsUnderWayAtATimeAndTheNewestStandsForThoseThatWait() {
        for (long id = 1; id <= 5; id++) {
            keepAlives.came(id);
        }
        assertThat(begun).containsExactly(1L);
        assertThat(leftOut).as("2, 3 and 4").isEqualTo(3);
        answers.get(0).complete(null);
        assertThat(begun).containsExactly(1L, 5L);
        keepAlives.came(6);
        answers.get(1).completeExceptionally(new IllegalStateException("nobody knows"));
        assertThat(begun).containsExactly(1L, 5L, 6L);
        answers.get(2).complete(null);
        keepAlives.came(7);
        assertThat(begun).containsExactly(1L, 5L, 6L, 7L);
        assertThat(leftOut).isEqualTo(3);
    }
}
