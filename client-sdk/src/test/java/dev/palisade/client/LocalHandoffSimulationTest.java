package dev.palisade.client;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LocalHandoffSimulationTest {
    private static final int SIMULATIONS = 150;

    @Test
    void atMostOneHolderAndNothingLeftBehindInTheEnd() {
        int handedOver = 0;
        int lost = 0;
        int cancelled = 0;
        for (int seed = 0; seed < SIMULATIONS; seed++) {
            try (LocalHandoffSimulation simulation = new LocalHandoffSimulation(seed)) {
                simulation.run();
                handedOver += simulation.handedOver;
                lost += simulation.lost;
                cancelled += simulation.cancelledBeforeHandoff;
            }
        }
        // Otherwise the simulation has not covered these cases.
        assertThat(handedOver).isGreaterThan(1_000);
        assertThat(lost).isGreaterThan(200);
        assertThat(cancelled).isGreaterThan(50);
    }
}
