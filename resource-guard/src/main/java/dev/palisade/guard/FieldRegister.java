package dev.palisade.guard;

import dev.palisade.contract.RejectedException;
import dev.palisade.guard.FieldRows.Entry;
import dev.palisade.guard.FieldRows.LostException;
import dev.palisade.guard.MarkStore.SharedFields;
import dev.palisade.guard.SharedRegister.Member;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The register of {@link MarkStore#shared(SharedFields, java.time.Duration)}: each step runs on what the guard has read before and
 * is set only if that is still so, byte for byte. What is remembered here is a guess that saves a read; it admits nothing.
 *
 * <p>After a restart or a failover of the store, or when its fields are gone, every guard joins again: as a new guard, with entries
 * for its running calls, in a new epoch. So what was forgotten is at most the entries of guards that do not live any more.
 */
final class FieldRegister implements RegisterStore {
    /** Steps of other guards that may come in between, in one step. */
    private static final int TRIES = 100;

    /** @param process and generation under which the guard joined */
    private record Place(String process, String generation, String guard) {}

    private final SharedFields fields;
    private final AtomicLong versions = new AtomicLong();
    private final String instance = Marks.newId();
    private final FieldGuesses guesses = new FieldGuesses();
    private final Map<Long, Entry> entries = new HashMap<>();
    private final Map<String, Long> registrations = new HashMap<>();
    private @Nullable Member member;
    private long leaseMillis;
    private String marksId = "";
    private String nextGuard = instance;
    private long epoch;
    private volatile @Nullable String end;
    private volatile @Nullable Runnable subscription;
    private volatile Place place = new Place("", "", instance);

    FieldRegister(SharedFields fields) {
        this.fields = fields;
    }

    @Override
    public synchronized Joined join(Member newcomer, long lease, Consumer<String> left) {
        member = newcomer;
        leaseMillis = lease;
        subscription = fields.subscribe(left).orElse(null);
        try {
            return enter();
        } catch (FailedException e) {
            close();
            throw SharedRegister.unavailable(e);
        }
    }

    void createNeverUsed() {
        try {
            fields.inspect();
            String process = read("", List.of(FieldRows.STATE)).process();
            RegisterHeader header =
                    new RegisterHeader(Marks.newId(), Marks.newId(), process, 0, 0, true, false, false, 0, 0);
            if (!fields.compareAndSet(process, Map.of(FieldRows.STATE, ""), Map.of(FieldRows.STATE, header.text()))
                    .done()) {
                throw Unavailable.because(
                        "there is a shared register already; only one that was never used can be made so");
            }
        } catch (IOException | UncheckedIOException e) {
            throw Unavailable.because(
                    "whether the shared register was made is unknown (" + Unavailable.oneLine(e) + "): try again", e);
        }
    }

    @Override
    public String guard() {
        return place.guard();
    }

    @Override
    public Optional<String> end() {
        return Optional.ofNullable(end);
    }

    @Override
    public void close() {
        Runnable unsubscribe = subscription;
        if (unsubscribe != null) {
            unsubscribe.run();
        }
    }

    @Override
    public String commandToEnd(String guard) {
        return fields.commandToDelete("guard:" + guard);
    }

    @Override
    public <T> T transact(Work<T> work) throws FailedException {
        Place here = place;
        try {
            return tried(here, work);
        } catch (LostException e) {
            joinAgain(here);
            throw failed(
                    "the store of the shared register was restarted or has lost fields, and this guard has joined it"
                            + " again; nothing was applied: try again");
        } catch (SQLException | RejectedException e) {
            throw new FailedException(e, false);
        } catch (IOException | UncheckedIOException e) {
            guesses.clear();
            throw new FailedException(
                    Unavailable.because(
                            "the shared register has not replied (" + Unavailable.oneLine(e)
                                    + "); no call was started: try again",
                            e),
                    true);
        }
    }

    private static FailedException failed(String why) {
        return new FailedException(Unavailable.because(why), false);
    }

    private <T> T tried(Place here, Work<T> work) throws SQLException, IOException, FailedException {
        for (int i = 0; i < TRIES; i++) {
            FieldRows rows = new FieldRows(
                    here.guard(),
                    here.generation(),
                    subscription != null,
                    newVersion(),
                    missing -> values(here.process(), missing));
            try {
                rows.header();
                T result = work.in(rows);
                if (isSet(here, rows, rows.changes())) {
                    done(here, rows);
                    rows.announced().forEach(fields::announce);
                    return result;
                }
            } catch (SQLException | RuntimeException e) {
                // What was read may be of several moments, so this counts only if all of it is so now.
                if (e instanceof UncheckedIOException || isSet(here, rows, Map.of())) {
                    throw e;
                }
            }
        }
        throw failed(
                "other guards were faster " + TRIES + " times in the shared register; nothing was applied: try again");
    }

    /** If it is not set, what was read was not so any more, and is guessed anew. */
    private boolean isSet(Place here, FieldRows rows, Map<String, String> changes) throws IOException {
        SharedFields.Reply reply = fields.compareAndSet(here.process(), rows.read(), changes);
        if (!reply.process().equals(here.process())) {
            throw new LostException();
        }
        if (!reply.done()) {
            guesses.put(reply.values());
        }
        return reply.done();
    }

    private String newVersion() {
        return instance + "." + versions.incrementAndGet();
    }

    /** What the step has set holds, unless the guard has joined again meanwhile: then it may be lost. */
    private synchronized void done(Place here, FieldRows rows) throws FailedException {
        if (!here.equals(place)) {
            throw new FailedException(
                    Unavailable.because(
                            "the guard has joined the shared register again; no call was started: try again"),
                    true);
        }
        entries.putAll(rows.entered());
        entries.keySet().removeAll(rows.removed());
        if (rows.changes().containsKey(FieldRows.REGISTRATIONS)) {
            registrations.putAll(rows.registrations());
        }
        epoch = Math.max(epoch, rows.header().epoch());
        guesses.put(rows.read());
        guesses.put(rows.changes());
    }

    /** Guesses, and what is there now of fields without one. */
    private Map<String, String> values(String process, Collection<String> wanted) {
        Map<String, String> values = guesses.of(wanted);
        List<String> missing =
                wanted.stream().filter(field -> !values.containsKey(field)).toList();
        if (!missing.isEmpty()) {
            SharedFields.Reply reply = read(process, missing);
            if (!reply.process().equals(process)) {
                throw new LostException();
            }
            guesses.put(reply.values());
            values.putAll(reply.values());
        }
        return values;
    }

    /** Compares with what no field ever holds, so the reply says what they hold. */
    private SharedFields.Reply read(String process, Collection<String> wanted) {
        Map<String, String> never = new LinkedHashMap<>();
        wanted.forEach(field -> never.put(field, "?"));
        try {
            return fields.compareAndSet(process, never, Map.of());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private synchronized void joinAgain(Place before) throws FailedException {
        if (!before.equals(place)) {
            return;
        }
        if (nextGuard.equals(before.guard())) {
            nextGuard = Marks.newId(); // The same one for each try: one with an unknown outcome leaves no guard behind.
        }
        enter();
        joined().operator()
                .warn(
                        "register_lost",
                        "the store of the shared register was restarted, failed over or has lost fields: all marks are raised,"
                                + " leases from before are refused once as TOKEN_STALE, and calls wait for "
                                + (leaseMillis
                                        + joined().unknownOutcomeTimeout().toMillis()) + " ms or longer; "
                                + entries.size() + " running calls of this guard were entered again");
    }

    /** Makes the register unless it is there, and a row for this guard with its entries. Under the lock. */
    private Joined enter() throws FailedException {
        guesses.clear();
        try {
            for (String warning : fields.inspect()) {
                joined().operator().warn("register_may_forget", warning);
            }
            for (int i = 0; i < TRIES; i++) {
                String process = read("", List.of(FieldRows.STATE)).process();
                FieldRows rows = new FieldRows(
                        nextGuard,
                        "",
                        false,
                        newVersion(),
                        missing -> read(process, missing).values());
                Joined joined = enter(rows, process);
                SharedFields.Reply reply = fields.compareAndSet(process, rows.read(), rows.changes());
                if (reply.process().equals(process) && reply.done()) {
                    RegisterHeader header = RegisterHeader.parse(rows.get(FieldRows.STATE));
                    epoch = header.epoch();
                    marksId = header.marksId();
                    entries.replaceAll((number, entry) ->
                            new Entry(entry.resource(), entry.call().at(nextGuard)));
                    place = new Place(process, header.generation(), nextGuard);
                    return joined;
                }
            }
        } catch (RejectedException e) {
            throw new FailedException(e, false);
        } catch (IOException | UncheckedIOException e) {
            throw new FailedException(
                    Unavailable.because(
                            "the shared register has not replied (" + Unavailable.oneLine(e) + "): try again", e),
                    true);
        }
        throw failed("other guards were faster " + TRIES + " times in the shared register: try again");
    }

    private Joined enter(FieldRows rows, String process) {
        Member self = joined();
        List<String> wanted = new ArrayList<>(
                List.of(FieldRows.STATE, FieldRows.GUARDS, FieldRows.REGISTRATIONS, "guard:" + nextGuard));
        entries.values().forEach(entry -> wanted.add("row:" + entry.resource()));
        rows.need(wanted);
        RegisterHeader header = header(rows.get(FieldRows.STATE), process)
                .with(self.unknownOutcomeTimeout().toMillis(), leaseMillis);
        rows.set(FieldRows.STATE, header.text());
        if (!place.guard().equals(nextGuard)) {
            rows.deleteGuard(place.guard());
        }
        rows.addGuard(nextGuard, self.owner(), leaseMillis);
        rows.addRegistrations(registrations);
        entries.forEach((number, entry) -> {
            List<RegisteredCall> calls = new ArrayList<>(rows.calls(entry.resource()));
            calls.removeIf(call -> call.isOf(nextGuard, number));
            calls.add(entry.call().at(nextGuard));
            rows.set(entry.resource(), rows.row(entry.resource()).withCalls(calls));
        });
        KeptMarks kept = new KeptMarks(
                header.complete(), header.state().isSettled(), List.of(), List.of(), rows.registrations());
        return new Joined(kept, header.marksId(), header.state(), !header.used());
    }

    /** A header under which nothing is trusted that another process of the store has kept. */
    private RegisterHeader header(String text, String process) {
        if (text.isEmpty()) {
            String id = marksId.isEmpty() ? Marks.newId() : marksId;
            long next = marksId.isEmpty() ? 0 : epoch + 1;
            return new RegisterHeader(Marks.newId(), id, process, next, -1, false, false, true, 0, 0);
        }
        RegisterHeader header = RegisterHeader.parse(text);
        if (!marksId.isEmpty() && !marksId.equals(header.marksId())) {
            end =
                    "the shared register was lost and another one was made in its place by a guard that did not know this one;"
                            + " this guard admits nothing more and stops its calls: start it again when they have ended";
            throw Unavailable.because(String.valueOf(end));
        }
        return header.process().equals(process) && header.epoch() >= epoch
                ? header
                : header.lost(Math.max(header.epoch(), epoch) + 1, Marks.newId(), process);
    }

    private Member joined() {
        Member joined = member;
        if (joined == null) {
            throw new IllegalStateException("a shared register is opened by Guard.Builder.build");
        }
        return joined;
    }
}
