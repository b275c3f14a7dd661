package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.RejectedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The parameter that names a lock, and the spellings in which PHP reads it as well. */
class RequestPathTest {
    private static String itemId(String query) {
        return RequestPath.of("/pay?" + query).parameter("item_id");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "item[id",
                "item%5Bid",
                "item%5bid",
                "+item[id",
                "%20item.id",
                "item+id",
                "item.id",
                "Item[ID",
                "item_id[",
                "item_id[]",
                "item_id[a][b",
                "item[id%00x",
                "item_id%00",
                "item]id",
                "item_id%20",
                "item%09id"
            })
    void secondSpellingIsRefused(String second) {
        assertThatThrownBy(() -> itemId("item_id=g1&" + second + "=g2"))
                .isInstanceOf(RejectedException.class)
                .hasMessageContaining("query parameter 'item_id' names the lock and is there more than once");
        assertThatThrownBy(() -> itemId(second + "=g2&item_id=g1")).isInstanceOf(RejectedException.class);
        assertThatThrownBy(() -> itemId(second + "=g2"))
                .isInstanceOf(RejectedException.class)
                .hasMessageContaining("in this spelling");
    }

    /** Trailing spaces become underscores in PHP. */
    @Test
    void spaceAtTheEndIsAnUnderscore() {
        assertThatThrownBy(() -> RequestPath.of("/pay?id_=g1&id+=g2").parameter("id_"))
                .isInstanceOf(RejectedException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"item=2", "id=2", "item[idx=2", "items[item_id]=2", "item-id=2", "item=[id", ""})
    void otherParametersPass(String other) {
        assertThat(itemId(other + "&item_id=g1")).isEqualTo("g1");
    }
}
