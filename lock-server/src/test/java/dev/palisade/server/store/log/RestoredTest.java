package dev.palisade.server.store.log;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.server.store.StoreUnusable;
import dev.palisade.server.store.log.format.Entry;
import dev.palisade.server.store.log.format.Event;
import dev.palisade.server.store.log.format.Record;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class RestoredTest {
    /** A record of a known kind may hold what is not known: that is no bug, which would end the process. */
    @Test
    void anEventOfALaterReleaseMakesTheLogUnusable() {
        assertThatThrownBy(() -> read(Entry.newBuilder().setLock("l").addEvents(Event.getDefaultInstance())))
                .isInstanceOf(StoreUnusable.class)
                .hasMessageContaining("journal record 7 cannot be used (an event of a later release)");
    }

    @Test
    void aNameThatNoReleaseWritesMakesTheLogUnusable() {
        assertThatThrownBy(() -> read(Entry.newBuilder())).isInstanceOf(StoreUnusable.class);
    }

    private static void read(Entry.Builder entry) throws StoreUnusable {
        byte[] body = Record.newBuilder().setEntry(entry).build().toByteArray();
        new Restored().record(7, 0, ByteBuffer.wrap(body));
    }
}
