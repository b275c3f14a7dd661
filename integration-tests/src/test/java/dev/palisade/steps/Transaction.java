package dev.palisade.steps;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What one connection to PostgreSQL is at, from the statements that it sends: names the steps of a guard's transactions. */
final class Transaction {
    /** What a transaction is for. */
    enum Kind {
        /** Not known before its first statement on a table. */
        BEGUN,
        ENTER,
        LEAVE,
        RENEW,
        OBSERVE,
        WATCH,
        /** None: the listener's LISTEN, and the empty statement that tests a connection. */
        NONE
    }

    private final Map<String, String> prepared = new HashMap<>();
    private final List<String> batch = new ArrayList<>();
    private volatile Kind kind = Kind.BEGUN;
    private volatile String text = "";
    private boolean over = true;

    /** One frame of the guard's, without its type. */
    void saw(char type, byte[] frame) {
        if (type == 'P') {
            int name = end(frame, 4);
            String sql = text(frame, name + 1, end(frame, name + 1));
            prepared.put(text(frame, 4, name), sql);
        } else if (type == 'B') {
            int portal = end(frame, 4);
            batch.add(prepared.getOrDefault(text(frame, portal + 1, end(frame, portal + 1)), "?"));
        } else if (type == 'Q') {
            batch.add(text(frame, 4, end(frame, 4)));
        }
    }

    private static int end(byte[] frame, int from) {
        int end = from;
        while (frame[end] != 0) {
            end++;
        }
        return end;
    }

    private static String text(byte[] frame, int from, int to) {
        return new String(frame, from, to - from, StandardCharsets.UTF_8);
    }

    /** Whether the round trip so far is only the beginning of a transaction. */
    boolean justBegins() {
        return batch.equals(List.of("BEGIN"));
    }

    /** The frames up to here are one round trip. */
    void endBatch() {
        if (over) {
            kind = Kind.BEGUN;
        }
        over = false;
        for (String sql : batch) {
            over = sql.startsWith("COMMIT") || sql.startsWith("ROLLBACK") || isNone(sql);
            if (kind == Kind.BEGUN) {
                kind = kind(sql);
            }
        }
        text = String.join("; ", batch.stream().map(Transaction::brief).toList());
        batch.clear();
    }

    private static boolean isNone(String sql) {
        return sql.isBlank() || sql.startsWith("LISTEN");
    }

    private static Kind kind(String sql) {
        if (isNone(sql)) {
            return Kind.NONE;
        } else if (sql.contains("FOR UPDATE")) {
            return Kind.ENTER;
        } else if (sql.startsWith("DELETE FROM palisade_register_calls")
                || sql.startsWith("UPDATE palisade_register_calls")) {
            return Kind.LEAVE;
        } else if (sql.startsWith("UPDATE palisade_register_guards")) {
            return Kind.RENEW;
        } else if (sql.contains("FROM palisade_register r") || sql.contains("FROM palisade_register_guards")) {
            return Kind.OBSERVE;
        }
        return sql.contains("JOIN palisade_marks m") ? Kind.WATCH : Kind.BEGUN;
    }

    private static String brief(String sql) {
        return sql.length() > 48 ? sql.substring(0, 48) : sql;
    }

    Kind kind() {
        return kind;
    }

    boolean isKnown() {
        return kind != Kind.BEGUN;
    }

    /** Whether it is for the guard itself, not for a call. */
    boolean isOfGuard() {
        return kind == Kind.RENEW || kind == Kind.OBSERVE || kind == Kind.WATCH;
    }

    /** The statements of the newest round trip. */
    String text() {
        return text;
    }
}
