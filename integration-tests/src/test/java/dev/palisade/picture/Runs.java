package dev.palisade.picture;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** Two runs for tests, the same each time: a pause race and a fault run. Times are in milliseconds. */
final class Runs {
    static final long TOKEN_A = 373_865_659_203_585L;
    static final long TOKEN_B = 373_865_659_203_617L;
    static final String LOST_UPDATE = "Lost update: A's late write of 38 (token " + TOKEN_A
            + ") was applied over B's newer 39 (token " + TOKEN_B + ").";

    private final List<JsonObject> events = new ArrayList<>();

    private Runs() {}

    static List<JsonObject> pauseRace(boolean guard) {
        String a = "'lock':'stock/42','token':'" + TOKEN_A + "','grant':'" + TOKEN_A + "'";
        String b = "'lock':'stock/42','token':'" + TOKEN_B + "','grant':'" + TOKEN_B + "'";
        Runs run = new Runs()
                .at(0, "run", "run", "'guard':'" + (guard ? "on" : "off") + "'")
                .at(120, "A", "granted", "'mode':'EXCLUSIVE'," + a)
                .at(141, "A", "acknowledged", "'value':'40'," + a)
                .at(142, "A", "valid", "'until':2118000000," + a)
                .at(150, "run", "fault-began", "'fault':'PAUSE_CLIENTS','who':'A'")
                .at(2131, "B", "granted", "'mode':'EXCLUSIVE'," + b)
                .at(2145, "B", "read", "'value':'40'," + b)
                .at(2160, "B", "acknowledged", "'value':'39'," + b)
                .at(2161, "B", "valid", "'until':4130000000," + b)
                .at(2162, "run", "fault-ended", "'fault':'PAUSE_CLIENTS','who':'A'");
        return guard
                ? run.at(2170, "A", "refused", "'value':'38','reason':'TOKEN_STALE','mark':'" + TOKEN_B + "'," + a)
                        .events()
                : run.at(2170, "A", "acknowledged", "'value':'38'," + a).events();
    }

    /** A minute of eight clients and six locks; in every tenth lease its client is paused and refused. */
    static List<JsonObject> faultRun() {
        Runs run = new Runs().at(0, "run", "run", "'seed':7,'clients':8,'guard':'on'");
        run.at(5_000, "run", "fault-began", "'fault':'KILL_SERVER','number':1,'who':'server'")
                .at(6_200, "run", "fault-ended", "'fault':'KILL_SERVER','number':1,'who':'server'")
                .at(9_000, "run", "fault-began", "'fault':'FREEZE_SERVER_LINK','number':2,'who':'client-3'")
                .at(9_900, "run", "fault-ended", "'fault':'FREEZE_SERVER_LINK','number':2,'who':'client-3'")
                .at(30_000, "run", "fault-began", "'fault':'CUT_OBJECTS_LINK','number':3,'who':'client-5'")
                .at(30_050, "run", "fault-ended", "'fault':'CUT_OBJECTS_LINK','number':3,'who':'client-5'")
                .at(31_000, "run", "operated", "'lock':'warehouse/cold-storage/3','what':'REQUEST_RELEASE'");
        for (int i = 0; i < 240; i++) {
            String lock = i % 2 == 0 ? "hot/0" : "warehouse/cold-storage/" + i % 12;
            int from = 200 + i * 250;
            run.lease("client-" + i % 8, lock, 373_865_659_200_000L + i * 32L, from, i % 20 == 0 && i + 2 < 240);
        }
        return run.events();
    }

    private void lease(String client, String lock, long token, int from, boolean paused) {
        String fields = String.format(
                Locale.ROOT, "'lock':'%s','token':%d,'grant':'%032x','op':'%s-%d'", lock, token, token, client, token);
        int until = from + 450;
        at(from, client, "granted", "'mode':'EXCLUSIVE','until':" + until * 1_000_000L + "," + fields);
        at(from + 20, client, "read", "'content':'" + from + " x'," + fields);
        if (!paused) {
            at(from + 40, client, "acknowledged", "'value':'" + from + "'," + fields);
            at(from + 60, client, "releasing", fields);
            return;
        }
        String fault = "'fault':'PAUSE_CLIENTS','number':" + token + ",'who':'" + client + "'";
        at(from + 30, "run", "fault-began", fault);
        at(from + 700, "run", "fault-ended", fault);
        at(
                from + 710,
                client,
                "refused",
                "'value':'" + from + "','reason':'TOKEN_STALE','mark':'" + (token + 64) + "'," + fields);
        at(from + 720, client, "lost", "'reason':'EXPIRED'," + fields);
    }

    private Runs at(long millis, String client, String event, String fields) {
        JsonObject added =
                JsonParser.parseString("{" + fields.replace('\'', '"') + "}").getAsJsonObject();
        added.addProperty("client", client);
        added.addProperty("event", event);
        added.addProperty("at", millis * 1_000_000);
        events.add(added);
        return this;
    }

    private List<JsonObject> events() {
        events.sort(Comparator.comparingLong(event -> event.get("at").getAsLong()));
        return events;
    }
}
