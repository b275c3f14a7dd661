package dev.palisade.guard;

import dev.palisade.guard.MarkStore.StoredMark;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * One optimistic step on the fields of a register: what it reads is kept with its value, what it writes is kept back. {@link
 * FieldRegister} then sets the fields if all that was read is still so. Not safe for threads; thrown away with the step.
 *
 * <p>Fields: {@code state}, {@code guards} (all ids), {@code guard:ID}, {@code beat:ID}, {@code row:RESOURCE}, {@code
 * base:DOMAIN:ISSUER}, {@code registrations}. Calls of a guard whose field is gone count as ended.
 */
final class FieldRows implements RegisterRows {
    static final String STATE = "state";
    static final String GUARDS = "guards";
    static final String REGISTRATIONS = "registrations";

    /** The register is not the one that this guard joined: fields may have been lost. */
    static final class LostException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    record Entry(String resource, RegisteredCall call) {}

    private final String guard;
    private final String generation;
    private final boolean listens;
    private final String version;
    private final Function<Collection<String>, Map<String, String>> source;
    private final Map<String, String> read = new LinkedHashMap<>();
    private final Map<String, String> changes = new LinkedHashMap<>();
    private final Map<String, ResourceRow> rows = new HashMap<>();
    private final Map<Long, Entry> entered = new HashMap<>();
    private final Set<Long> removed = new HashSet<>();
    private final Set<String> announced = new HashSet<>();

    /**
     * @param guard whose step it is
     * @param generation that the guard joined; empty: it joins
     * @param listens whether the guard hears of announced resources
     * @param version of each row that it writes, see {@link ResourceRow#text}
     * @param source of values, each of which may be older than the others; empty: no such field
     */
    FieldRows(
            String guard,
            String generation,
            boolean listens,
            String version,
            Function<Collection<String>, Map<String, String>> source) {
        this.guard = guard;
        this.generation = generation;
        this.listens = listens;
        this.version = version;
        this.source = source;
    }

    /** What was read. */
    Map<String, String> read() {
        return read;
    }

    /** What is to be set; empty: deleted. */
    Map<String, String> changes() {
        return changes;
    }

    /** Entries of its guard as the step leaves them, by number: those that it has registered or quarantined. */
    Map<Long, Entry> entered() {
        return entered;
    }

    /** Numbers of calls of its guard that it has removed. */
    Set<Long> removed() {
        return removed;
    }

    /** Resources to announce when the step is done. */
    Set<String> announced() {
        return announced;
    }

    /** @throws LostException when the guard has to join again */
    RegisterHeader header() {
        String text = get(STATE);
        RegisterHeader header = text.isEmpty() ? null : RegisterHeader.parse(text);
        if (header == null || !generation.equals(header.generation())) {
            throw new LostException();
        }
        return header;
    }

    String get(String field) {
        String changed = changes.get(field);
        if (changed != null) {
            return changed;
        }
        need(List.of(field));
        return read.getOrDefault(field, "");
    }

    /** Reads them together, which saves asking for one after the other. */
    void need(Collection<String> fields) {
        List<String> missing =
                fields.stream().filter(field -> !read.containsKey(field)).toList();
        if (!missing.isEmpty()) {
            Map<String, String> values = source.apply(missing);
            missing.forEach(field -> read.put(field, values.getOrDefault(field, "")));
        }
    }

    void set(String field, String value) {
        changes.put(field, value);
    }

    ResourceRow row(String resource) {
        return rows.computeIfAbsent(resource, name -> ResourceRow.parse(name, get("row:" + name)));
    }

    void set(String resource, ResourceRow row) {
        rows.put(resource, row);
        set("row:" + resource, row.text(version));
    }

    boolean isThere(String id) {
        return !get("guard:" + id).isEmpty();
    }

    @Override
    public State state() {
        return header().state();
    }

    @Override
    public StateAndBase state(String issuer, int domain) {
        State state = state();
        String[] base = get(base(issuer, domain)).split(" ", -1);
        boolean isBase = base.length == 2 && Long.parseLong(base[0]) == state.epoch();
        return new StateAndBase(state, isBase ? Optional.of(Long.parseLong(base[1])) : Optional.empty());
    }

    private static String base(String issuer, int domain) {
        return "base:" + domain + ":" + issuer;
    }

    @Override
    public void settle(long epoch) {
        RegisterHeader header = header();
        if (header.epoch() == epoch && header.settled() < epoch) {
            set(STATE, header.settled(epoch).text());
        }
    }

    @Override
    public void raiseEpoch() {
        set(STATE, header().raised().text());
    }

    @Override
    public void putBase(BaseMark base, long epoch) {
        if (epoch == header().epoch()
                && state(base.issuer(), base.domain()).base().isEmpty()) {
            set(base(base.issuer(), base.domain()), epoch + " " + base.token());
            use();
        }
    }

    private void use() {
        if (!header().used()) {
            set(STATE, header().inUse().text());
        }
    }

    @Override
    public MarkRow lockMark(String resource) {
        need(List.of(STATE, "row:" + resource, "guard:" + guard));
        ResourceRow row = row(resource);
        return new MarkRow(row.mark(), row.epoch());
    }

    @Override
    public void putMark(StoredMark stored, long epoch) {
        set(stored.resource(), row(stored.resource()).withMark(stored, epoch));
        use();
    }

    @Override
    public List<RegisteredCall> calls(String resource) {
        List<RegisteredCall> calls = row(resource).calls();
        need(calls.stream().map(call -> "guard:" + call.guard()).distinct().toList());
        return calls.stream().filter(call -> isThere(call.guard())).toList();
    }

    @Override
    public void register(String resource, RegisteredCall call) throws SQLException {
        requireOwn(call.guard());
        if (!isThere(guard)) {
            throw new SQLException("the guard is not in the register any more", "23000");
        }
        List<RegisteredCall> calls = new ArrayList<>(calls(resource));
        calls.add(call);
        set(resource, row(resource).withCalls(calls));
        entered.put(call.number(), new Entry(resource, call));
    }

    @Override
    public void remove(String resource, String owner, Collection<Long> numbers) throws SQLException {
        if (numbers.isEmpty()) {
            return;
        }
        requireOwn(owner);
        List<RegisteredCall> calls = calls(resource).stream()
                .filter(call -> !(call.guard().equals(owner) && numbers.contains(call.number())))
                .toList();
        // Also when none of them is there: the new version is what stops an earlier step that is still on its way.
        set(resource, row(resource).withCalls(calls));
        removed.addAll(numbers);
    }

    @Override
    public void quarantine(String resource, String owner, Collection<Long> numbers) throws SQLException {
        if (numbers.isEmpty()) {
            return;
        }
        requireOwn(owner);
        List<RegisteredCall> calls = new ArrayList<>(calls(resource));
        calls.replaceAll(
                call -> call.guard().equals(owner) && numbers.contains(call.number()) ? call.asQuarantined() : call);
        calls.stream()
                .filter(call -> call.guard().equals(owner) && numbers.contains(call.number()))
                .forEach(call -> entered.put(call.number(), new Entry(resource, call)));
        set(resource, row(resource).withCalls(calls));
    }

    @Override
    public void awaitLeave(String resource) {
        if (listens && !row(resource).awaited()) {
            set(resource, row(resource).withAwaited(true));
        }
    }

    @Override
    public void announceLeave(String resource) {
        if (row(resource).awaited()) {
            set(resource, row(resource).withAwaited(false));
            announced.add(resource);
        }
    }

    /** A step that was made before the guard joined again. */
    private void requireOwn(String owner) throws SQLException {
        if (!owner.equals(guard)) {
            throw new SQLException("the guard has joined the register again meanwhile", "40001");
        }
    }

    @Override
    public boolean renew(String id) {
        need(List.of(STATE, "guard:" + id, "beat:" + id));
        if (!isThere(id)) {
            return false;
        }
        set("beat:" + id, beat(beats(id) + 1));
        return true;
    }

    static String beat(long beats) {
        return beats + " " + System.currentTimeMillis();
    }

    private long beats(String id) {
        return Long.parseLong(get("beat:" + id).split(" ", -1)[0]);
    }

    private List<String> ids() {
        String ids = get(GUARDS);
        return ids.isEmpty() ? List.of() : List.of(ids.split(" ", -1));
    }

    @Override
    public List<GuardRow> guards() {
        List<String> fields = new ArrayList<>();
        ids().forEach(id -> fields.addAll(List.of("guard:" + id, "beat:" + id)));
        need(fields);
        List<GuardRow> guards = new ArrayList<>();
        for (String id : ids()) {
            if (isThere(id)) {
                String[] words = get("guard:" + id).split(" ", 2);
                guards.add(new GuardRow(id, words[1], Long.parseLong(words[0]), beats(id), -1));
            }
        }
        return guards;
    }

    void addGuard(String id, String owner, long leaseMillis) {
        List<String> all = new ArrayList<>(ids());
        all.stream().filter(other -> !isThere(other)).forEach(other -> set("beat:" + other, ""));
        all.removeIf(other -> other.equals(id) || !isThere(other));
        all.add(id);
        set(GUARDS, String.join(" ", all));
        set("guard:" + id, leaseMillis + " " + owner);
        set("beat:" + id, beat(0));
    }

    @Override
    public boolean deleteGuard(String id) {
        need(List.of(STATE, GUARDS, "guard:" + id));
        boolean there = isThere(id);
        set("guard:" + id, "");
        set("beat:" + id, "");
        List<String> rest = ids().stream().filter(other -> !other.equals(id)).toList();
        set(GUARDS, String.join(" ", rest));
        return there;
    }

    @Override
    public boolean deleteGuard(String id, long beats) {
        return isThere(id) && beats(id) == beats && deleteGuard(id);
    }

    @Override
    public Map<String, Mark> marksOfCalls(String owner, Collection<String> resources) {
        need(resources.stream().map(resource -> "row:" + resource).toList());
        Map<String, Mark> marks = new HashMap<>();
        for (String resource : resources) {
            StoredMark mark = row(resource).mark();
            if (mark != null) {
                marks.put(resource, mark.mark());
            }
        }
        return marks;
    }

    @Override
    public void putRegistration(String name, long token) {
        Map<String, Long> all = registrations();
        all.put(name, token);
        set(REGISTRATIONS, all);
    }

    private void set(String field, Map<String, Long> tokens) {
        set(
                field,
                tokens.entrySet().stream()
                        .map(each -> each.getValue() + " " + each.getKey())
                        .collect(Collectors.joining("\n")));
    }

    /** Keeps {@code tokens} of the names that have none. */
    void addRegistrations(Map<String, Long> tokens) {
        Map<String, Long> all = registrations();
        tokens.forEach(all::putIfAbsent);
        set(REGISTRATIONS, all);
    }

    Map<String, Long> registrations() {
        Map<String, Long> tokens = new TreeMap<>();
        get(REGISTRATIONS).lines().forEach(line -> {
            int space = line.indexOf(' ');
            tokens.put(line.substring(space + 1), Long.parseLong(line.substring(0, space)));
        });
        return tokens;
    }

    @Override
    public Optional<Long> registration(String name) {
        return Optional.ofNullable(registrations().get(name));
    }
}
