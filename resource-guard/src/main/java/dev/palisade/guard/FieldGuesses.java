package dev.palisade.guard;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Bounded memory of the newest fields that a guard has read or set. Any of them may have changed since. Thread-safe. */
final class FieldGuesses {
    private static final int FIELDS_MAX = 4096;

    private final Map<String, String> fields = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, String> eldest) {
            return size() > FIELDS_MAX;
        }
    };

    /** The values of those that are remembered. */
    synchronized Map<String, String> of(Collection<String> wanted) {
        Map<String, String> values = new HashMap<>();
        for (String field : wanted) {
            String value = fields.get(field);
            if (value != null) {
                values.put(field, value);
            }
        }
        return values;
    }

    synchronized void put(Map<String, String> values) {
        fields.putAll(values);
    }

    synchronized void clear() {
        fields.clear();
    }
}
