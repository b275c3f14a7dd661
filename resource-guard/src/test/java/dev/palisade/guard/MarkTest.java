package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.Sequencer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** {@link Mark#judge} against the table of the protocol, against a naive model, and against published samples that are wrong. */
class MarkTest {
    private static final String RESOURCE = "orders/42";

    /** Something that judges: ours, or a sample with a bug. */
    private interface Judge {
        Verdict judge(Mark mark, Sequencer sequencer, Access access);
    }

    private static final Judge OURS = (mark, sequencer, access) -> mark.judge(RESOURCE, sequencer, access);

    @Test
    void everyCombinationIsJudgedAsTheTableSays() {
        assertThat(firstDifferenceFromTheTable(OURS)).isEmpty();
    }

    @Test
    void aRandomWalkNeverLeavesTheNaiveModel() {
        for (long seed = 1; seed <= 200; seed++) {
            assertThat(firstBrokenRuleOfAWalk(OURS, seed)).as("seed %d", seed).isEmpty();
        }
    }

    @Test
    void theSampleThatRefusesEqualTokensIsFound() {
        // "if token <= last: refuse": a holder's second write fails.
        Judge sample = (mark, sequencer, access) ->
                mark.exclusiveToken() == sequencer.token().value()
                        ? new Verdict.Refused(new Rejection(Reason.TOKEN_STALE, "equal"))
                        : OURS.judge(mark, sequencer, access);
        assertFound(sample);
    }

    @Test
    void theSampleThatAcceptsOnlyEqualTokensIsFound() {
        // "if token != current: refuse": nobody ever follows.
        Judge sample = (mark, sequencer, access) -> mark.exclusiveToken() != 0
                        && mark.exclusiveToken() != sequencer.token().value()
                ? new Verdict.Refused(new Rejection(Reason.TOKEN_STALE, "not equal"))
                : OURS.judge(mark, sequencer, access);
        assertFound(sample);
    }

    @Test
    void theSampleWhoseReadsDoNotRaiseIsFound() {
        Judge sample = (mark, sequencer, access) ->
                access == Access.READ && OURS.judge(mark, sequencer, access) instanceof Verdict.Admitted
                        ? new Verdict.Admitted(mark, false)
                        : OURS.judge(mark, sequencer, access);
        assertFound(sample);
    }

    @Test
    void theSampleThatLetsAnotherGrantShareATokenIsFound() {
        Judge sample = (mark, sequencer, access) ->
                mark.exclusiveToken() == sequencer.token().value()
                                && sequencer.mode() == Mode.EXCLUSIVE
                                && mark.sharedToken() < mark.exclusiveToken()
                        ? new Verdict.Admitted(mark, false)
                        : OURS.judge(mark, sequencer, access);
        assertFound(sample);
    }

    private static void assertFound(Judge sample) {
        assertThat(firstDifferenceFromTheTable(sample)).as("table").isPresent();
        boolean walkFound = false;
        for (long seed = 1; seed <= 200 && !walkFound; seed++) {
            walkFound = firstBrokenRuleOfAWalk(sample, seed).isPresent();
        }
        assertThat(walkFound).as("walk").isTrue();
    }

    @Test
    void aStaleCallIsToldWhoSupersededItAndThatNothingWasApplied() {
        Mark mark = new Mark(34, grant(34), 0);
        Rejection rejection = refused(mark.judge(RESOURCE, sequencer(Mode.EXCLUSIVE, 33, grant(33)), Access.WRITE));
        assertThat(rejection.reason()).isEqualTo(Reason.TOKEN_STALE);
        assertThat(rejection.metadata())
                .containsEntry(Rejection.PRESENTED_TOKEN, "33")
                .containsEntry(Rejection.MARK_TOKEN, "34")
                .containsEntry(Rejection.MARK_GRANT, grant(34).toString())
                .containsEntry(Rejection.RESOURCE, RESOURCE)
                .containsEntry(Rejection.LOCK, "l")
                .containsEntry(Rejection.APPLIED, "no");
        assertThat(rejection.message())
                .contains("token 33")
                .contains("token 34")
                .doesNotContain("\n");
    }

    @Test
    void aWriterThatASharedGrantSupersededIsToldItsToken() {
        Rejection rejection =
                refused(new Mark(3, grant(3), 7).judge(RESOURCE, sequencer(Mode.EXCLUSIVE, 5, grant(5)), Access.WRITE));
        assertThat(rejection.metadata())
                .containsEntry(Rejection.MARK_TOKEN, "7")
                .doesNotContainKey(Rejection.MARK_GRANT);
    }

    @Test
    void aSharedWriteIsNotAllowedHoweverNewItIs() {
        Rejection rejection = refused(Mark.NONE.judge(RESOURCE, sequencer(Mode.SHARED, 9, grant(9)), Access.WRITE));
        assertThat(rejection.reason()).isEqualTo(Reason.MODE_NOT_ALLOWED);
    }

    @Test
    void aSequencerOfAnotherLockIsRefusedBeforeItsMode() {
        Binding binding = new Binding("table/1", new LockName("other"));
        assertThatThrownBy(() -> binding.require(sequencer(Mode.SHARED, 9, grant(9)), Access.WRITE))
                .isInstanceOfSatisfying(
                        RejectedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.WRONG_RESOURCE));
    }

    @Test
    void aMarkThatCannotBeIsNoMark() {
        assertThatThrownBy(() -> new Mark(1, null, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Mark(0, grant(1), 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Mark(0, null, FencingToken.MAX + 1)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Every mark and call with tokens up to 4 and two grants per token, judged by the protocol's words written out again. */
    private static Optional<String> firstDifferenceFromTheTable(Judge judge) {
        for (Mark mark : marks()) {
            for (Sequencer call : calls()) {
                for (Access access : Access.values()) {
                    Optional<Mark> expected = table(mark, call, access);
                    Verdict verdict = judge.judge(mark, call, access);
                    Optional<Mark> actual = verdict instanceof Verdict.Admitted admitted
                            ? Optional.of(admitted.next())
                            : Optional.empty();
                    if (!expected.equals(actual)) {
                        return Optional.of(mark + " " + call + " " + access + ": " + expected + " but " + actual);
                    }
                }
            }
        }
        return Optional.empty();
    }

    private static Optional<Mark> table(Mark mark, Sequencer call, Access access) {
        long t = call.token().value();
        long x = mark.exclusiveToken();
        long s = mark.sharedToken();
        if (call.mode() == Mode.EXCLUSIVE) {
            boolean admit = t > s && (t > x || (t == x && call.grant().equals(mark.exclusiveGrant())));
            return admit ? Optional.of(new Mark(t, call.grant(), s)) : Optional.empty();
        }
        return t > x && access == Access.READ
                ? Optional.of(new Mark(x, mark.exclusiveGrant(), Math.max(s, t)))
                : Optional.empty();
    }

    private static List<Mark> marks() {
        List<Mark> marks = new ArrayList<>();
        for (long s = 0; s <= 4; s++) {
            marks.add(new Mark(0, null, s));
            for (long x = 1; x <= 4; x++) {
                marks.add(new Mark(x, grant(x), s));
                marks.add(new Mark(x, grant(x + 100), s));
            }
        }
        return marks;
    }

    private static List<Sequencer> calls() {
        List<Sequencer> calls = new ArrayList<>();
        for (Mode mode : Mode.values()) {
            for (long t = 1; t <= 5; t++) {
                calls.add(sequencer(mode, t, grant(t)));
                calls.add(sequencer(mode, t, grant(t + 100)));
            }
        }
        return calls;
    }

    /**
     * The naive model remembers every admitted call and asks of each new one: is anything newer and conflicting among them?
     * It knows no mark at all, so it shares no mistake with one.
     */
    private static Optional<String> firstBrokenRuleOfAWalk(Judge judge, long seed) {
        Random random = new Random(seed);
        List<Sequencer> admitted = new ArrayList<>();
        Mark mark = Mark.NONE;
        for (int step = 0; step < 200; step++) {
            long token = 1L + random.nextInt(8) + step / 20;
            Mode mode = token % 3 == 0 ? Mode.SHARED : Mode.EXCLUSIVE;
            Sequencer call = sequencer(mode, token, grant(random.nextInt(8) == 0 ? token + 100 : token));
            Access access = random.nextInt(3) == 0 ? Access.WRITE : Access.READ;
            boolean expected =
                    access.isOpenTo(mode) && admitted.stream().noneMatch(earlier -> supersedes(earlier, call));
            Verdict verdict = judge.judge(mark, call, access);
            if (expected != verdict instanceof Verdict.Admitted) {
                return Optional.of("step " + step + ": " + mark + " " + call + " " + access + " -> " + verdict);
            }
            if (verdict instanceof Verdict.Admitted next) {
                boolean fell = next.next().exclusiveToken() < mark.exclusiveToken()
                        || next.next().sharedToken() < mark.sharedToken();
                if (fell || next.raised() == next.next().equals(mark)) {
                    return Optional.of("step " + step + ": " + mark + " became " + next);
                }
                mark = next.next();
                admitted.add(call);
            }
        }
        return Optional.empty();
    }

    private static boolean supersedes(Sequencer earlier, Sequencer call) {
        boolean sameGrant =
                earlier.token().equals(call.token()) && earlier.grant().equals(call.grant());
        boolean bothShared = earlier.mode() == Mode.SHARED && call.mode() == Mode.SHARED;
        return !sameGrant && !bothShared && earlier.token().compareTo(call.token()) >= 0;
    }

    private static Rejection refused(Verdict verdict) {
        assertThat(verdict).isInstanceOf(Verdict.Refused.class);
        return ((Verdict.Refused) verdict).rejection();
    }

    private static GrantId grant(long number) {
        return new GrantId(7, number);
    }

    private static Sequencer sequencer(Mode mode, long token, GrantId grant) {
        return new Sequencer("palisade", new LockName("l"), mode, new FencingToken(token), grant, 0);
    }
}
