package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.Ages;
import dev.palisade.cli.term.Plain;
import dev.palisade.client.HolderInfo;
import dev.palisade.client.LockDescription;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A lock as it is shown: for people, and in JSON. */
final class LockText {
    private LockText() {}

    /** One lock, as {@code describe} shows it. */
    static String shown(LockDescription lock, Clock clock) {
        StringBuilder text = new StringBuilder(Plain.text(lock.lock().value()))
                .append(": ")
                .append(state(lock))
                .append('\n');
        if (!lock.holders().isEmpty()) {
            text.append('\n').append(Plain.table(holders(lock, clock)));
        }
        if (!lock.waiters().isEmpty()) {
            text.append('\n').append(Plain.table(waiters(lock, clock)));
        }
        int left = lock.holdersTotal()
                - lock.holders().size()
                + lock.waitersTotal()
                - lock.waiters().size();
        if (left > 0) {
            text.append("and ").append(left).append(" more\n");
        }
        lock.epoch().ifPresent(epoch -> text.append('\n').append(StoreText.shown(epoch, clock)));
        return text.toString();
    }

    /** One row, as {@code list} shows it. */
    static List<String> row(LockDescription lock) {
        String owner = lock.holders().isEmpty() ? "-" : lock.holders().get(0).owner();
        String token =
                lock.holders().isEmpty() ? "-" : lock.holders().get(0).token().toString();
        String held =
                lock.holders().isEmpty() ? "-" : Ages.of(lock.holders().get(0).held());
        return List.of(lock.lock().value(), state(lock), token, held, String.valueOf(lock.waitersTotal()), owner);
    }

    static List<String> head() {
        return List.of("LOCK", "STATE", "TOKEN", "HELD", "WAITERS", "OWNER");
    }

    static JsonObject json(LockDescription lock) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", lock.lock().value());
        JsonArray holders = new JsonArray();
        for (HolderInfo holder : lock.holders()) {
            JsonObject one = new JsonObject();
            one.addProperty("session", holder.session());
            one.addProperty("owner", holder.owner());
            one.addProperty("purpose", holder.purpose());
            one.addProperty("token", holder.token().value());
            one.addProperty("mode", holder.mode().name());
            one.addProperty("held_millis", holder.held().toMillis());
            one.addProperty("remaining_millis", holder.remaining().toMillis());
            holders.add(one);
        }
        json.add("holders", holders);
        json.addProperty("holders_total", lock.holdersTotal());
        JsonArray waiters = new JsonArray();
        for (LockDescription.Waiter waiter : lock.waiters()) {
            JsonObject one = new JsonObject();
            one.addProperty("session", waiter.session());
            one.addProperty("owner", waiter.owner());
            one.addProperty("purpose", waiter.purpose());
            one.addProperty("mode", waiter.mode().name());
            one.addProperty("waited_millis", waiter.waited().toMillis());
            one.addProperty("offered", waiter.offered());
            waiters.add(one);
        }
        json.add("waiters", waiters);
        json.addProperty("waiters_total", lock.waitersTotal());
        json.addProperty("lock_delay_millis", lock.lockDelayRemaining().toMillis());
        lock.epoch().ifPresent(epoch -> json.add("epoch", StoreText.json(epoch)));
        return json;
    }

    private static String state(LockDescription lock) {
        if (lock.holdersTotal() > 1) {
            return "held by " + lock.holdersTotal();
        }
        if (lock.holdersTotal() == 1) {
            return "held";
        }
        if (!lock.lockDelayRemaining().isZero()) {
            return "closed for " + Ages.of(lock.lockDelayRemaining());
        }
        return lock.waitersTotal() > 0 ? "offered" : "free";
    }

    private static List<List<String>> holders(LockDescription lock, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("HOLDER", "PURPOSE", "MODE", "TOKEN", "SINCE", "LEASE ENDS IN"));
        for (HolderInfo holder : lock.holders()) {
            rows.add(List.of(
                    named(holder.owner()),
                    named(holder.purpose()),
                    word(holder.mode().name()),
                    holder.token().toString(),
                    since(holder.held(), clock),
                    Ages.of(holder.remaining())));
        }
        return rows;
    }

    private static List<List<String>> waiters(LockDescription lock, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("#", "WAITER", "PURPOSE", "MODE", "SINCE", ""));
        int place = 1;
        for (LockDescription.Waiter waiter : lock.waiters()) {
            rows.add(List.of(
                    String.valueOf(place++),
                    named(waiter.owner()),
                    named(waiter.purpose()),
                    word(waiter.mode().name()),
                    since(waiter.waited(), clock),
                    waiter.offered() ? "offered" : ""));
        }
        return rows;
    }

    private static String since(Duration length, Clock clock) {
        return Ages.ago(clock.instant().minus(length), clock.instant(), clock.getZone());
    }

    private static String named(String text) {
        return text.isEmpty() ? "-" : text;
    }

    private static String word(String name) {
        return name.toLowerCase(Locale.ROOT);
    }
}
