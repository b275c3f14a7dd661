package dev.palisade.demo;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.palisade.scenario.Customers.Told;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What a sale came to. Who was issued a coupon is what the storage's applied-log says, which was written in the writes' own
 * transactions; what the customers were told and what the list says in the end is compared with it.
 *
 * @param coupons how many there were
 * @param customers how many wanted one
 * @param issued the customer of each applied write, in the order of the log
 * @param listed who has a coupon by the list at the end
 * @param told what each customer was told in the end
 * @param lateWrites what became of the writes that a pause was placed before
 * @param staleCalls calls of the customers, reads and writes, that the guard refused as stale
 */
record Sale(
        int coupons,
        int customers,
        List<String> issued,
        List<String> listed,
        Map<String, Told> told,
        List<LateWrite> lateWrites,
        long staleCalls) {
    /**
     * A write that was sent after a pause.
     *
     * @param process who was stopped
     * @param answer the answer's event: acknowledged, refused or unknown
     * @param reason why it was refused; empty if it was not
     */
    record LateWrite(String process, String answer, String reason) {
        boolean refused() {
            return answer.equals("refused") && reason.equals("TOKEN_STALE");
        }
    }

    Sale {
        issued = List.copyOf(issued);
        listed = List.copyOf(listed);
        told = Map.copyOf(told);
        lateWrites = List.copyOf(lateWrites);
    }

    /** The customer of each write to {@code key} in the applied-log; events tell whose grant was whose. */
    static List<String> issued(List<String> log, String key, List<JsonObject> events) {
        Map<String, String> byGrant = new HashMap<>();
        for (JsonObject event : events) {
            if (is(event, "granted")) {
                byGrant.put(text(event, "grant"), text(event, "customer"));
            }
        }
        List<String> issued = new ArrayList<>();
        for (String line : log) {
            JsonObject row = JsonParser.parseString(line).getAsJsonObject();
            if (text(row, "operation").equals("PUT") && text(row, "key").equals(key)) {
                String grant = text(row, "grant");
                issued.add(byGrant.getOrDefault(grant, "a stranger with grant '" + grant + "'"));
            }
        }
        return issued;
    }

    /** How many customers have a coupon by the log. */
    int holders() {
        return new HashSet<>(issued).size();
    }

    boolean oversold() {
        return holders() > coupons;
    }

    /** Customers that were told {@code what}. */
    Set<String> told(Told what) {
        Set<String> names = new TreeSet<>();
        told.forEach((customer, said) -> {
            if (said == what) {
                names.add(customer);
            }
        });
        return names;
    }

    long lateRefused() {
        return lateWrites.stream().filter(LateWrite::refused).count();
    }

    long processesStopped() {
        return lateWrites.stream().map(LateWrite::process).distinct().count();
    }

    /** Why this is not a sale of exactly as many coupons as there were; empty: it is. */
    List<String> faults() {
        List<String> faults = new ArrayList<>();
        Set<String> holders = new TreeSet<>(issued);
        if (holders.size() != coupons) {
            faults.add(holders.size() + " customers were issued one of " + coupons + " coupons");
        }
        if (holders.size() != issued.size()) {
            faults.add((issued.size() - holders.size()) + " coupons went to a customer who had one");
        }
        if (!listed.equals(issued)) {
            faults.add("the list at the end has " + listed.size() + " names and is not what the log says was issued");
        }
        if (!told(Told.COUPON).equals(holders)) {
            faults.add(told(Told.COUPON).size() + " customers were told that they have a coupon; the log has "
                    + holders.size() + ", or other ones");
        }
        if (told.size() != customers) {
            faults.add((customers - told.size()) + " of " + customers + " customers were told nothing");
        }
        if (lateWrites.isEmpty() || lateRefused() != lateWrites.size()) {
            faults.add(lateRefused() + " of " + lateWrites.size() + " late writes were refused as stale");
        }
        return faults;
    }
}
