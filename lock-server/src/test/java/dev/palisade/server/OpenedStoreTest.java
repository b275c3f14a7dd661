package dev.palisade.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.EventLog;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpenedStoreTest {
    @Test
    void moreLocksThanTheLimitAreReportedAtTheStart() {
        List<String> lines = new ArrayList<>();
        EventLog events = new EventLog(lines::add, () -> 0, EventLog.LINES_PER_SECOND);
        OpenedStore.tellOfExcess(3, 3, events);
        assertThat(lines).isEmpty();
        OpenedStore.tellOfExcess(4, 3, events);
        assertThat(lines).singleElement().asString().contains("event=locks_max_exceeded locks=4 locks_max=3");
    }
}
