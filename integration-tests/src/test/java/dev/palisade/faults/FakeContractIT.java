package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The fake that users test with tells every story as a server process does: same results, same queue, same history. */
@Execution(ExecutionMode.CONCURRENT)
class FakeContractIT {
    @ParameterizedTest
    @EnumSource
    void theFakeAndARealServerTellTheSame(Scenario scenario) throws InterruptedException {
        List<String> real;
        List<String> fake;
        try (LockService service = new LockService.Real()) {
            real = scenario.play(service);
        }
        try (LockService service = new LockService.Fake()) {
            fake = scenario.play(service);
        }
        System.out.println(scenario + ": " + real);
        assertThat(real).isNotEmpty();
        assertThat(fake).isEqualTo(real);
    }
}
