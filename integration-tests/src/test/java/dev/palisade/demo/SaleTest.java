package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.demo.Sale.LateWrite;
import dev.palisade.scenario.Customers.Told;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Two coupons, three customers: the sale as it must be, and each way in which it is not. */
class SaleTest {
    private static final LateWrite REFUSED = new LateWrite("c1", "refused", "TOKEN_STALE");
    private static final Map<String, Told> TOLD = Map.of("a", Told.COUPON, "b", Told.COUPON, "c", Told.SOLD_OUT);

    private static Sale sale(List<String> issued, List<String> listed, Map<String, Told> told, LateWrite late) {
        return new Sale(2, 3, issued, listed, told, List.of(late), 1);
    }

    private static Map<String, Told> told(String customer, Told what) {
        Map<String, Told> told = new HashMap<>(TOLD);
        told.put(customer, what);
        return told;
    }

    @Test
    void asManyAsThereAreIsNoFault() {
        Sale sale = sale(List.of("a", "b"), List.of("a", "b"), TOLD, REFUSED);

        assertThat(sale.faults()).isEmpty();
        assertThat(sale.oversold()).isFalse();
    }

    @Test
    void oneMoreThanThereAreIsOversold() {
        Sale sale = sale(List.of("a", "b", "c"), List.of("a", "b", "c"), told("c", Told.COUPON), REFUSED);

        assertThat(sale.faults()).containsExactly("3 customers were issued one of 2 coupons");
        assertThat(sale.oversold()).isTrue();
    }

    @Test
    void aLeftOverCouponIsAFault() {
        Sale sale = sale(List.of("a"), List.of("a"), told("b", Told.SOLD_OUT), REFUSED);

        assertThat(sale.faults()).containsExactly("1 customers were issued one of 2 coupons");
        assertThat(sale.oversold()).isFalse();
    }

    @Test
    void twoCouponsForOneCustomerAreAFaultAndNotOversold() {
        Sale sale = sale(List.of("a", "b", "b"), List.of("a", "b", "b"), TOLD, REFUSED);

        assertThat(sale.faults()).containsExactly("1 coupons went to a customer who had one");
        assertThat(sale.oversold()).isFalse();
    }

    @Test
    void aListThatIsNotTheLogIsAFault() {
        assertThat(sale(List.of("a", "b"), List.of("b", "a"), TOLD, REFUSED).faults())
                .containsExactly("the list at the end has 2 names and is not what the log says was issued");
    }

    @Test
    void aCustomerWhoWronglyBelievesToHaveACouponIsAFault() {
        assertThat(sale(List.of("a", "b"), List.of("a", "b"), told("c", Told.COUPON), REFUSED)
                        .faults())
                .containsExactly("3 customers were told that they have a coupon; the log has 2, or other ones");
    }

    @Test
    void aCustomerWhoDoesNotKnowOfItsCouponIsAFault() {
        assertThat(sale(List.of("a", "b"), List.of("a", "b"), told("b", Told.SOLD_OUT), REFUSED)
                        .faults())
                .containsExactly("1 customers were told that they have a coupon; the log has 2, or other ones");
    }

    @Test
    void theWrongCustomersInTheRightNumberAreAFault() {
        Map<String, Told> others = Map.of("a", Told.COUPON, "b", Told.SOLD_OUT, "c", Told.COUPON);

        assertThat(sale(List.of("a", "b"), List.of("a", "b"), others, REFUSED).faults())
                .containsExactly("2 customers were told that they have a coupon; the log has 2, or other ones");
    }

    @Test
    void aCustomerWhoIsToldNothingIsAFault() {
        Map<String, Told> lost = Map.of("a", Told.COUPON, "b", Told.COUPON);

        assertThat(sale(List.of("a", "b"), List.of("a", "b"), lost, REFUSED).faults())
                .containsExactly("1 of 3 customers were told nothing");
    }

    @Test
    void aLateWriteThatWasNotRefusedAsStaleIsAFault() {
        for (LateWrite late : List.of(
                new LateWrite("c1", "acknowledged", ""),
                new LateWrite("c1", "refused", "SEQUENCER_INVALID"),
                new LateWrite("c1", "unknown", "TOKEN_STALE"))) {
            assertThat(sale(List.of("a", "b"), List.of("a", "b"), TOLD, late).faults())
                    .containsExactly("0 of 1 late writes were refused as stale");
        }
    }

    @Test
    void aSaleWithoutALateWriteShowsNothing() {
        assertThat(new Sale(2, 3, List.of("a", "b"), List.of("a", "b"), TOLD, List.of(), 0).faults())
                .containsExactly("0 of 0 late writes were refused as stale");
    }

    @Test
    void theLogsWritesOfTheListNameTheirCustomersByGrant() {
        List<JsonObject> events = List.of(
                event("{'event':'granted','customer':'a','grant':'01'}"),
                event("{'event':'granted','customer':'b','grant':'02'}"),
                event("{'event':'asking','customer':'c'}"));
        List<String> log = List.of(
                "{'operation':'GET','key':'list','grant':'01'}",
                "{'operation':'PUT','key':'list','grant':'02'}",
                "{'operation':'PUT','key':'other','grant':'01'}",
                "{'operation':'PUT','key':'list','grant':'03'}",
                "{'operation':'PUT','key':'list','grant':'01'}");

        assertThat(Sale.issued(log, "list", events)).containsExactly("b", "a stranger with grant '03'", "a");
    }

    private static JsonObject event(String json) {
        return JsonParser.parseString(json).getAsJsonObject();
    }
}
