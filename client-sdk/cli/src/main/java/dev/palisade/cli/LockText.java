package dev.palisade.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.palisade.cli.term.TerminalText;
import dev.palisade.cli.term.TimeFormat;
import dev.palisade.proto.v1.DescribeReply;
import dev.palisade.proto.v1.Holder;
import dev.palisade.proto.v1.Mode;
import dev.palisade.proto.v1.Waiter;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Output of one lock, as text and as JSON. A field that no server may send, such as a negative time, is shown as
 * {@code ?}.
 */
final class LockText {
    private LockText() {}

    /** One lock, as {@code describe} prints it. */
    static String shown(DescribeReply lock, Clock clock) {
        StringBuilder text = new StringBuilder(TerminalText.text(lock.getLock()))
                .append(": ")
                .append(state(lock))
                .append('\n');
        if (lock.getHoldersCount() > 0 && lock.getMinimumHoldRemainingMillis() > 0) {
            text.append("minimum hold time: another ")
                    .append(TimeFormat.durationMillis(lock.getMinimumHoldRemainingMillis()))
                    .append('\n');
        }
        if (lock.getHoldersCount() > 0) {
            text.append('\n').append(TerminalText.table(holders(lock, clock)));
        }
        if (lock.getWaitersCount() > 0) {
            text.append('\n').append(TerminalText.table(waiters(lock, clock)));
        }
        int left = lock.getHoldersTotal() - lock.getHoldersCount() + lock.getWaitersTotal() - lock.getWaitersCount();
        if (left > 0) {
            text.append("and ").append(left).append(" more\n");
        }
        if (lock.hasEpoch()) {
            text.append('\n').append(StoreText.shown(lock.getEpoch(), clock));
        }
        return text.toString();
    }

    /** One row, as {@code list} prints it. */
    static List<String> row(DescribeReply lock) {
        boolean held = lock.getHoldersCount() > 0;
        Holder first = held ? lock.getHolders(0) : Holder.getDefaultInstance();
        return List.of(
                lock.getLock(),
                state(lock),
                held ? String.valueOf(first.getToken()) : "-",
                held ? TimeFormat.durationMillis(first.getHeldMillis()) : "-",
                TerminalText.count(lock.getWaitersTotal()),
                held ? first.getOwner() : "-");
    }

    static List<String> head() {
        return List.of("LOCK", "STATE", "TOKEN", "HELD", "WAITERS", "OWNER");
    }

    static JsonObject json(DescribeReply lock) {
        JsonObject json = new JsonObject();
        json.addProperty("lock", lock.getLock());
        JsonArray holders = new JsonArray();
        lock.getHoldersList().forEach(holder -> holders.add(json(holder)));
        json.add("holders", holders);
        add(json, "holders_total", lock.getHoldersTotal());
        JsonArray waiters = new JsonArray();
        for (Waiter waiter : lock.getWaitersList()) {
            JsonObject one = new JsonObject();
            one.addProperty("session", waiter.getSession());
            one.addProperty("owner", waiter.getOwner());
            one.addProperty("principal", waiter.getPrincipal());
            one.addProperty("purpose", waiter.getPurpose());
            one.addProperty("mode", mode(waiter.getMode()));
            add(one, "waited_millis", waiter.getWaitedMillis());
            one.addProperty("offered", waiter.getOffered());
            waiters.add(one);
        }
        json.add("waiters", waiters);
        add(json, "waiters_total", lock.getWaitersTotal());
        add(json, "lock_delay_millis", lock.getLockDelayRemainingMillis());
        add(json, "minimum_hold_millis", lock.getMinimumHoldRemainingMillis());
        if (lock.hasEpoch()) {
            json.add("epoch", StoreText.json(lock.getEpoch()));
        }
        return json;
    }

    static JsonObject json(Holder holder) {
        JsonObject json = new JsonObject();
        json.addProperty("session", holder.getSession());
        json.addProperty("owner", holder.getOwner());
        json.addProperty("principal", holder.getPrincipal());
        json.addProperty("purpose", holder.getPurpose());
        json.addProperty("token", holder.getToken());
        json.addProperty("mode", mode(holder.getMode()));
        add(json, "held_millis", holder.getHeldMillis());
        add(json, "remaining_millis", holder.getRemainingMillis());
        return json;
    }

    /** A time or a number; a negative one is left out. */
    static void add(JsonObject json, String name, long value) {
        if (value >= 0) {
            json.addProperty(name, value);
        }
    }

    /** Such as {@code owner (purpose) since 2026-11-21T14:05:06+01:00, for 3.0 s, token 33}. */
    static String holder(Holder holder, Clock clock) {
        String purpose = holder.getPurpose().isEmpty() ? "" : " (" + holder.getPurpose() + ")";
        String since = holder.getHeldMillis() < 0
                ? ""
                : " since " + TimeFormat.at(clock.instant().minusMillis(holder.getHeldMillis()), clock.getZone())
                        + ", for " + TimeFormat.durationMillis(holder.getHeldMillis());
        String mode = holder.getMode() == Mode.SHARED ? ", shared" : "";
        return TerminalText.text(named(holder.getOwner()) + purpose + since + ", token " + holder.getToken() + mode);
    }

    /** Such as {@code held}, {@code held by 3}, {@code offered to a waiter}, {@code free}. */
    static String state(DescribeReply lock) {
        if (lock.getHoldersTotal() > 1) {
            return "held by " + lock.getHoldersTotal();
        }
        if (lock.getHoldersTotal() == 1) {
            return "held";
        }
        if (lock.getMinimumHoldRemainingMillis() > Math.max(0, lock.getLockDelayRemainingMillis())) {
            return "free, in its minimum hold time for another "
                    + TimeFormat.durationMillis(lock.getMinimumHoldRemainingMillis());
        }
        if (lock.getLockDelayRemainingMillis() > 0) {
            return "free, in lock-delay for another " + TimeFormat.durationMillis(lock.getLockDelayRemainingMillis());
        }
        return lock.getWaitersTotal() > 0 ? "offered to a waiter" : "free";
    }

    private static List<List<String>> holders(DescribeReply lock, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("HOLDER", "PURPOSE", "MODE", "TOKEN", "SINCE", "LEASE ENDS IN"));
        for (Holder holder : lock.getHoldersList()) {
            rows.add(List.of(
                    client(holder.getOwner(), holder.getPrincipal()),
                    named(holder.getPurpose()),
                    word(holder.getMode()),
                    String.valueOf(holder.getToken()),
                    TimeFormat.agoMillis(holder.getHeldMillis(), clock.instant(), clock.getZone()),
                    TimeFormat.durationMillis(holder.getRemainingMillis())));
        }
        return rows;
    }

    private static List<List<String>> waiters(DescribeReply lock, Clock clock) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("#", "WAITER", "PURPOSE", "MODE", "SINCE", ""));
        int place = 1;
        for (Waiter waiter : lock.getWaitersList()) {
            rows.add(List.of(
                    String.valueOf(place++),
                    client(waiter.getOwner(), waiter.getPrincipal()),
                    named(waiter.getPurpose()),
                    word(waiter.getMode()),
                    TimeFormat.agoMillis(waiter.getWaitedMillis(), clock.instant(), clock.getZone()),
                    waiter.getOffered() ? "offered" : ""));
        }
        return rows;
    }

    /** What the client calls itself, and whom the lock server has authenticated. */
    static String client(String owner, String principal) {
        return named(owner) + (principal.isEmpty() || principal.equals(owner) ? "" : " as " + principal);
    }

    private static String named(String text) {
        return text.isEmpty() ? "-" : text;
    }

    private static String mode(Mode mode) {
        return mode == Mode.EXCLUSIVE || mode == Mode.SHARED ? mode.name() : "?";
    }

    private static String word(Mode mode) {
        return mode(mode).toLowerCase(Locale.ROOT);
    }
}
