package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.core.StoreStatus;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class LastStatusTest {
    private final LastStatus status = new LastStatus();
    private final List<CompletableFuture<Optional<StoreStatus.SharedLog>>> questions = new ArrayList<>();

    private Optional<StoreStatus.SharedLog> look() {
        return status.look(() -> {
            questions.add(new CompletableFuture<>());
            return questions.get(questions.size() - 1);
        });
    }

    private static Optional<StoreStatus.SharedLog> at(long batch) {
        return Optional.of(new StoreStatus.SharedLog(
                1, "a:1", "writer", batch, 1, 2_000, 1_000, new StoreStatus.Takeover(1, "FIRST", ""), List.of()));
    }

    @Test
    void eachLookAsksAgainButOneQuestionAtATime() {
        assertThat(look()).isEmpty();
        assertThat(look()).isEmpty();
        assertThat(questions).hasSize(1);
        questions.get(0).complete(at(7));
        assertThat(look()).isEqualTo(at(7));
        assertThat(questions).hasSize(2);
    }

    @Test
    void aFailedQuestionIsNoReplyAndIsAskedAgain() {
        look();
        questions.get(0).complete(at(7));
        look();
        questions.get(1).completeExceptionally(new IllegalArgumentException("not a status"));
        assertThat(look()).isEmpty();
        assertThat(questions).hasSize(3);
    }

    @Test
    void aQuestionThatCannotBeAskedIsNoReplyAndIsAskedAgain() {
        look();
        questions.get(0).complete(at(7));
        assertThat(status.look(() -> {
                    throw new RejectedExecutionException("closed");
                }))
                .isEmpty();
        look();
        assertThat(questions).hasSize(2);
    }
}
