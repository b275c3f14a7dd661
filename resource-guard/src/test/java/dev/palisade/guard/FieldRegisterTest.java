package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.palisade.guard.MarkStore.SharedFields;
import dev.palisade.guard.RegisterStore.FailedException;
import dev.palisade.guard.SharedRegister.Member;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;

/** Traces of one register on fields in memory: what the store loses, and when its replies come, is in the test's hands. */
class FieldRegisterTest {
    private static final Duration LEASE = Duration.ofSeconds(10);

    private final ManualTime time = new ManualTime();
    private final Fields fields = new Fields();

    /** The store of the fields; it may become another process, or have an older copy of them. */
    private static final class Fields implements SharedFields {
        private final Map<String, String> values = new HashMap<>();
        private String process = "first";

        /** Runs once, when the next step was applied and its reply is on its way. */
        private Runnable beforeReply = () -> {};

        @Override
        public Collection<String> inspect() {
            return List.of();
        }

        @Override
        public Reply compareAndSet(String run, Map<String, String> expected, Map<String, String> changes) {
            if (!run.isEmpty() && !run.equals(process)) {
                return new Reply(process, false, Map.of());
            }
            Map<String, String> found = new LinkedHashMap<>();
            expected.keySet().forEach(field -> found.put(field, values.getOrDefault(field, "")));
            if (!found.equals(expected)) {
                return new Reply(process, false, found);
            }
            values.putAll(changes);
            Reply reply = new Reply(process, true, Map.of());
            if (!changes.isEmpty()) {
                Runnable meanwhile = beforeReply;
                beforeReply = () -> {};
                meanwhile.run();
            }
            return reply;
        }

        @Override
        public String commandToDelete(String field) {
            return field;
        }
    }

    private static Member member(LongSupplier nanos) {
        return new Member(nanos, Duration.ofSeconds(1), false, "owner", (event, message) -> {});
    }

    private FieldRegister joined() {
        FieldRegister register = new FieldRegister(fields);
        register.join(member(time::nanos), LEASE.toMillis(), left -> {});
        return register;
    }

    private static FailedException failure(FieldRegister register) {
        return catchThrowableOfType(FailedException.class, () -> register.transact(rows -> rows.renew("another")));
    }

    /** Others count the lease from after they saw the renewal; counted here from the reply it could outlast theirs. */
    @Test
    void leaseCountsFromBeforeItsRenewalWasSent() {
        SharedRegister register = SharedRegister.of(fields, LEASE);
        register.join(member(time::nanos));
        register.open();
        time.pass(Duration.ofSeconds(1));
        fields.beforeReply = () -> time.pass(Duration.ofSeconds(4));
        register.confirm().toCompletableFuture().join();
        time.pass(Duration.ofMillis(5_999));
        assertThat(register.isLeaseValid()).as("9.999 s after it was sent").isTrue();
        time.pass(Duration.ofMillis(1));
        assertThat(register.isLeaseValid()).as("10 s after it was sent").isFalse();
    }

    @Test
    void stepOfAPlaceThatIsLostMeanwhileStartsNothing() {
        FieldRegister register = joined();
        fields.beforeReply = () -> {
            fields.process = "second";
            fields.values.clear();
            assertThat(failure(register)).hasMessageContaining("joined it again");
        };
        FailedException failed = catchThrowableOfType(
                FailedException.class,
                () -> register.transact(rows -> {
                    rows.raiseEpoch();
                    return true;
                }));
        assertThat(failed)
                .isNotNull()
                .hasMessageContaining("joined the shared register again; no call was started")
                .extracting(FailedException::isUnknown)
                .isEqualTo(true);
    }

    /** The process is the one that wrote it, but its past is not the one that this guard knows. */
    @Test
    void olderCopyUnderTheSameProcessIsTrustedNoMore() throws Exception {
        FieldRegister register = joined();
        Map<String, String> copy = Map.copyOf(fields.values);
        fields.process = "second";
        assertThat(failure(register)).hasMessageContaining("joined it again");
        long known = register.transact(rows -> rows.state().epoch());
        assertThat(known).isEqualTo(1);

        fields.process = "first";
        fields.values.clear();
        fields.values.putAll(copy);
        assertThat(failure(register)).hasMessageContaining("joined it again");
        assertThat(register.<Long>transact(rows -> rows.state().epoch())).isEqualTo(2);
        assertThat(register.<Boolean>transact(rows -> rows.state().isSettled())).isFalse();
    }

    /** The fields were emptied and made anew by another guard: the process alone does not show it. */
    @Test
    void generationThatTheGuardDidNotJoinIsNoticed() throws Exception {
        FieldRegister register = joined();
        RegisterHeader header = RegisterHeader.parse(fields.values.getOrDefault(FieldRows.STATE, ""));
        fields.values.put(
                FieldRows.STATE, header.lost(5, "other", header.process()).text());
        assertThat(failure(register)).hasMessageContaining("joined it again");
        assertThat(register.<Long>transact(rows -> rows.state().epoch())).isEqualTo(5);
    }
}
