package dev.palisade.incidents;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import dev.palisade.contract.cli.Commands.CannotStart;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a run has done and found, as it is kept in {@code state.json} after each incident: enough to go on from there,
 * and to be added up.
 *
 * @param kinds the names of the incidents that are shuffled
 * @param incidents how many for each issuer; 0: as many as there is time for
 * @param seconds how long for each issuer; 0: as long as it takes
 * @param figures by the issuer's name
 */
record State(
        long seed,
        List<String> kinds,
        int incidents,
        int seconds,
        List<String> against,
        Map<String, IncidentStatistics> figures) {
    private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();
    private static final String FILE = "state.json";

    State {
        kinds = List.copyOf(kinds);
        against = List.copyOf(against);
        figures = Map.copyOf(figures);
    }

    static State load(Path directory, StoreUnderTest<?> store) throws CannotStart, IOException {
        Path file = directory.resolve(FILE);
        if (!Files.exists(file)) {
            throw new CannotStart(file + " is not there; name the directory of a run of " + store.command());
        }
        try {
            State state = GSON.fromJson(Files.readString(file), State.class);
            if (state == null) {
                throw new CannotStart(file + " is empty; the run cannot go on, begin another");
            }
            for (String kind : state.kinds()) {
                if (store.incident(kind).isEmpty()) {
                    throw new CannotStart(file + " is not of " + store.command() + ", which has no incident " + kind);
                }
            }
            return state;
        } catch (JsonParseException | NullPointerException e) {
            throw new CannotStart(file + " is not the state of such a run: " + e.getMessage());
        }
    }

    IncidentStatistics of(String issuer) {
        return figures.getOrDefault(issuer, IncidentStatistics.NONE);
    }

    State with(String issuer, IncidentStatistics found) {
        Map<String, IncidentStatistics> all = new TreeMap<>(figures);
        all.put(issuer, found);
        return new State(seed, kinds, incidents, seconds, against, all);
    }

    /** Either this state is on file, whole, or the one before. */
    void save(Path directory) throws IOException {
        Path next = directory.resolve(FILE + ".next");
        Files.writeString(next, GSON.toJson(this));
        Files.move(next, directory.resolve(FILE), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }
}
