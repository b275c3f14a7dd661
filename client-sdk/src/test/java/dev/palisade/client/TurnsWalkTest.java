package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TurnsWalkTest {
    private static final int WALKS = 150;

    @Test
    void whateverHappensThereIsOneHolderAtMostAndInTheEndNobodyWaitsAndNothingIsHeld() {
        int handedOver = 0;
        int lost = 0;
        int cancelled = 0;
        for (int seed = 0; seed < WALKS; seed++) {
            try (TurnsWalk walk = new TurnsWalk(seed)) {
                walk.run();
                handedOver += walk.handedOver;
                lost += walk.lost;
                cancelled += walk.cancelledBeforeTheirTurn;
            }
        }
        // Else it has shown nothing.
        assertThat(handedOver).isGreaterThan(1_000);
        assertThat(lost).isGreaterThan(200);
        assertThat(cancelled).isGreaterThan(50);
    }
}
