package dev.palisade.server.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.rpc.KeepAlives.KeepAliveIds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class KeepAlivesTest {
    private final List<KeepAliveIds> begun = new ArrayList<>();
    private final List<CompletableFuture<Void>> answers = new ArrayList<>();
    private int leftOut;
    private final KeepAlives keepAlives = new KeepAlives(
            ids -> {
                begun.add(ids);
                CompletableFuture<Void> answer = new CompletableFuture<>();
                answers.add(answer);
                return answer;
            },
            () -> leftOut++);

    @Test
    void oneIsUnderWayAtATimeAndTheNewestStandsForThoseThatWait() {
        for (long id = 1; id <= 5; id++) {
            keepAlives.came(id, true);
        }
        assertThat(begun).containsExactly(renewal(1));
        assertThat(leftOut).as("2, 3 and 4").isEqualTo(3);
        answers.get(0).complete(null);
        assertThat(begun).containsExactly(renewal(1), renewal(5));
        keepAlives.came(6, true);
        answers.get(1).completeExceptionally(new IllegalStateException("store unavailable"));
        assertThat(begun).containsExactly(renewal(1), renewal(5), renewal(6));
        answers.get(2).complete(null);
        keepAlives.came(7, true);
        assertThat(begun).containsExactly(renewal(1), renewal(5), renewal(6), renewal(7));
        assertThat(leftOut).isEqualTo(3);
    }

    @Test
    void aSignOfLifeStandsForTheRenewalThatItOvertakesInTheWait() {
        keepAlives.came(1, false);
        keepAlives.came(2, true);
        keepAlives.came(3, false);
        keepAlives.came(4, false);
        answers.get(0).complete(null);
        assertThat(begun).containsExactly(sign(1), renewal(2).withSign(4));
        keepAlives.came(5, false);
        keepAlives.came(6, true);
        answers.get(1).complete(null);
        assertThat(begun.get(2)).isEqualTo(renewal(6));
        keepAlives.came(7, false);
        answers.get(2).completeExceptionally(new IllegalStateException("store unavailable"));
        assertThat(begun.get(3)).as("the failed renewal stays unconfirmed").isEqualTo(sign(7));
        assertThat(leftOut).as("2, 3 and 5").isEqualTo(3);
    }

    /** A client of ours counts from 1, another one may count from 0. */
    @Test
    void theRenewalZeroIsARenewal() {
        keepAlives.came(1, false);
        keepAlives.came(0, true);
        keepAlives.came(2, false);
        answers.get(0).complete(null);
        assertThat(begun).containsExactly(sign(1), renewal(0).withSign(2));
        assertThat(begun.get(1).renews()).isTrue();
    }

    private static KeepAliveIds renewal(long id) {
        return KeepAliveIds.of(id, true);
    }

    private static KeepAliveIds sign(long id) {
        return KeepAliveIds.of(id, false);
    }
}
