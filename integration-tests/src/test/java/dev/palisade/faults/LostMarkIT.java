package dev.palisade.faults;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.check.Marks;
import dev.palisade.check.Run;
import dev.palisade.client.Lease;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.faults.Caller.Verb;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** P12: marks outlive the storage's process; and what the checkers make of a storage whose mark was set back. */
@Execution(ExecutionMode.CONCURRENT)
class LostMarkIT {
    private static final String KEY = "account/1";

    @Test
    void marksOutliveAKillOfTheStorage() throws Exception {
        try (Storage storage = new Storage()) {
            Lease former = storage.acquire(KEY, Mode.EXCLUSIVE);
            assertThat(storage.send(Verb.PUT, KEY, former.sequencer())).isEmpty();
            former.release();
            Lease holder = storage.acquire(KEY, Mode.EXCLUSIVE);
            assertThat(storage.send(Verb.GET, KEY, holder.sequencer())).isEmpty();
            List<Marks> marks = new ArrayList<>();

            storage.restart(() -> marks.add(snapshot(storage, "killed")));

            assertThat(storage.send(Verb.PUT, KEY, former.sequencer()))
                    .get()
                    .extracting(Rejection::reason)
                    .isEqualTo(Reason.TOKEN_STALE);
            assertThat(storage.send(Verb.PUT, KEY, holder.sequencer())).isEmpty();
            Run run = storage.stop(marks);
            assertThat(withoutCounters(run)).isEmpty();
        }
    }

    @Test
    void aMarkThatWasSetBackIsFoundAndSoIsWhatItLetThrough() throws Exception {
        try (Storage storage = new Storage()) {
            Lease former = storage.acquire(KEY, Mode.EXCLUSIVE);
            assertThat(storage.send(Verb.PUT, KEY, former.sequencer())).isEmpty();
            former.release();
            Lease holder = storage.acquire(KEY, Mode.EXCLUSIVE);
            assertThat(storage.send(Verb.PUT, KEY, holder.sequencer())).isEmpty();
            List<Marks> marks = new ArrayList<>();

            storage.restart(() -> {
                marks.add(snapshot(storage, "killed"));
                Database.tamper(
                        storage.dataDir(),
                        "UPDATE palisade_fence SET x_token = " + former.token() + ", x_grant = '" + former.grant()
                                + "' WHERE resource = '" + KEY + "'");
            });

            assertThat(storage.send(Verb.PUT, KEY, former.sequencer())).isEmpty();
            Run run = storage.stop(marks);
            assertThat(withoutCounters(run))
                    .anySatisfy(
                            violation -> assertThat(violation).startsWith("P12").contains("went back"))
                    .anySatisfy(
                            violation -> assertThat(violation).startsWith("P12").contains("was applied, and"))
                    .anySatisfy(violation -> assertThat(violation).startsWith("P6"));
        }
    }

    private static Marks snapshot(Storage storage, String when) throws Exception {
        return Database.readCopy(storage.dataDir(), connection -> Database.marks(connection, when));
    }

    /** These callers write no counters, so P15 has nothing to say. */
    private static List<String> withoutCounters(Run run) {
        return run.violations().stream()
                .filter(violation -> !violation.startsWith("P15"))
                .toList();
    }
}
