package dev.palisade.guard.mark;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MemoryMarkStoreTest {
    /** Or a restart of the guard would admit grants from before. */
    @Test
    void eachStartIsThatOfANewStoreWhateverWasPut() throws Exception {
        KeptMarks nothing = new KeptMarks(false, false, List.of(), List.of());
        MemoryMarkStore store = new MemoryMarkStore();
        assertThat(store.open()).isEqualTo(nothing);
        MarkStoreContract.await(store.put(MarkStoreContract.mark("a", 7)));
        MarkStoreContract.await(store.putBase(MarkStoreContract.base(1, 7), List.of("a")));
        MarkStoreContract.await(store.confirm());
        assertThat(store.isHeldForLife()).isTrue();
        store.close(true);
        assertThat(new MemoryMarkStore().open()).isEqualTo(nothing);
    }
}
