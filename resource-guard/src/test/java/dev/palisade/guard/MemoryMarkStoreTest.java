package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class MemoryMarkStoreTest {
    /** Or a restart of the guard would admit grants from before. */
    @Test
    void eachStartIsThatOfANewStoreWhateverWasPut() throws Exception {
        KeptMarks nothing = new KeptMarks(false, false, List.of(), List.of());
        MarkStore store = MarkStore.memory();
        assertThat(store.open()).isEqualTo(nothing);
        MarkStoreContract.await(store.put(MarkStoreContract.mark("a", 7)));
        MarkStoreContract.await(store.putBase(MarkStoreContract.base(1, 7), List.of("a")));
        MarkStoreContract.await(store.confirm());
        assertThat(store.isHeldForLife()).isTrue();
        store.close(true);
        assertThat(MarkStore.memory().open()).isEqualTo(nothing);
    }
}
