package dev.palisade.server.ownership;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.server.ownership.LogState.Head;
import dev.palisade.server.ownership.LogState.Seen;
import dev.palisade.server.ownership.Ownership.Phase;
import dev.palisade.server.ownership.OwnershipMachine.Settings;
import dev.palisade.server.ownership.WorldSetup.Fault;
import dev.palisade.server.ownership.WorldSetup.Planted;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Every order of steps of two servers that share a log, with servers that are killed, stopped and cut off, and a log that
 * restarts, falls back or is emptied: no two clients believe in one lock, no two histories share a position, no memory is written
 * over a history that is not its own. Each way to own a log that is known to be wrong is found.
 *
 * <p>By default one thing goes wrong of any kind, and up to three of some. Two of any kind, and three of more kinds, in some
 * minutes: {@code -Dpalisade.owners.long=true}.
 */
@Execution(ExecutionMode.CONCURRENT)
class OwnershipSearchTest {
    private static final LogRules OURS = new LogRules(2 * WorldSetup.TICK, WorldSetup.TICK);
    private static final Set<Fault> ALL = EnumSet.allOf(Fault.class);
    private static final boolean RESUME = true;
    private static final boolean WAIT = false;
    private static final boolean LONG = Boolean.getBoolean("palisade.owners.long");

    @Test
    void oneFaultOfAnyKindBreaksNothing() {
        OwnershipSearch search = new OwnershipSearch();
        for (boolean resumes : List.of(RESUME, WAIT)) {
            assertHolds(search, setup(resumes, 1, 8, ALL));
        }
        assertThat(search.states()).isGreaterThan(100_000);
        assertThat(search.phases()).contains(Phase.REWRITING, Phase.RESENDING, Phase.SUSPENDED, Phase.STOPPED);
        assertThat(search.documented())
                .as("a takeover takes two faults to be forgotten")
                .isZero();
        if (LONG) {
            twoFaultsOfAnyKindBreakNothing();
        }
    }

    private static void twoFaultsOfAnyKindBreakNothing() {
        OwnershipSearch search = new OwnershipSearch();
        assertHolds(search, setup(WAIT, 2, 7, ALL));
        assertThat(search.documented()).isZero();
        assertHolds(search, setup(RESUME, 2, 7, ALL));
        assertThat(search.states()).isGreaterThan(1_000_000);
    }

    @Test
    void takeoverAndLossTogetherBreakNothingWithWait() {
        OwnershipSearch search = new OwnershipSearch();
        assertHolds(search, setup(WAIT, 2, 7, Set.of(Fault.PAUSE, Fault.LOSS)));
        if (LONG) {
            assertHolds(search, setup(WAIT, 3, 8, Set.of(Fault.PAUSE, Fault.CRASH, Fault.LOSS)));
            assertHolds(search, setup(WAIT, 3, 8, Set.of(Fault.CUT, Fault.CRASH, Fault.EMPTY)));
        }
        assertThat(search.states()).isGreaterThan(LONG ? 1_000_000 : 10_000);
        assertThat(search.documented()).isZero();
    }

    @Test
    void batchThatIsRefusedForTooLongBreaksNothing() {
        OwnershipSearch search = new OwnershipSearch();
        OwnershipMachine givesUpAtOnce = new OwnershipMachine(new Settings(2 * WorldSetup.TICK, 0, RESUME));
        Set<Fault> kinds = Set.of(Fault.REFUSE, Fault.CUT);
        assertHolds(search, new WorldSetup(OURS, givesUpAtOnce, RESUME, kinds, 2, 2, false, 7, 0, 0, Set.of()));
        assertThat(search.phases()).contains(Phase.FREEING);
    }

    @Test
    void twoBatchesInFlightBreakNothing() {
        OwnershipSearch search = new OwnershipSearch();
        for (boolean resumes : List.of(RESUME, WAIT)) {
            for (Fault kind : ALL) {
                assertHolds(search, inFlight(resumes, Set.of(kind)));
            }
        }
        assertThat(search.states()).isGreaterThan(100_000);
        assertThat(search.phases()).contains(Phase.RESENDING, Phase.SUSPENDED, Phase.STOPPED);
    }

    @Test
    void batchThatIsStoredWithoutTheOneBeforeIsFound() {
        LogRules planted = new OtherRules() {
            @Override
            boolean isNext(Head head, AppendRequest request) {
                return head.seq() < request.seq();
            }
        };
        for (Fault kind : List.of(Fault.REFUSE, Fault.LATE)) {
            assertFound(new WorldSetup(planted, machine(WAIT), WAIT, Set.of(kind), 1, 3, false, 4, 0, 2, Set.of()));
        }
    }

    @Test
    void batchThatIsSentAgainAlthoughItIsStoredIsFound() {
        OwnershipMachine planted = new OwnershipMachine(new Settings(2 * WorldSetup.TICK, WorldSetup.TICK, WAIT)) {
            @Override
            int missing(Ownership server, Position found) {
                return server.past().missing(server.pending(), found) > 0 ? server.pending() : 0;
            }
        };
        assertFound(new WorldSetup(OURS, planted, WAIT, Set.of(Fault.CUT), 1, 3, false, 4, 0, 2, Set.of()));
    }

    @Test
    void replyThatIsTakenForTheReplyToAllIsFound() {
        assertFound(inFlight(WAIT, Set.of(Fault.LATE)).with(Planted.ONE_REPLY_FOR_ALL));
    }

    @Test
    void outcomeOfTheLastBatchTakenForThatOfAllIsFound() {
        Set<Fault> kinds = Set.of(Fault.CUT, Fault.REFUSE);
        assertFound(new WorldSetup(OURS, machine(WAIT), WAIT, kinds, 2, 3, false, 4, 0, 2, Set.of())
                .with(Planted.OUTCOME_OF_THE_LAST));
    }

    @Test
    void takeoverThatTheLogForgetsIsTheOnlyOverlapWithResume() {
        OwnershipSearch search = new OwnershipSearch();
        assertHolds(search, setup(RESUME, 3, 7, Set.of(Fault.PAUSE, Fault.CRASH, Fault.EMPTY)));
        assertThat(search.states()).isGreaterThan(10_000);
        assertThat(search.documented()).as("the case that is documented").isPositive();
    }

    @Test
    void integersAsOwnersAreFound() {
        assertFound(RESUME, 3, Set.of(Fault.PAUSE, Fault.CRASH, Fault.LOSS), new OtherRules() {
            @Override
            WriterId writer(ClaimRequest request, long term) {
                return new WriterId(0, term);
            }
        });
    }

    @Test
    void pastThatIsNotComparedIsFound() {
        assertFound(RESUME, 1, Set.of(Fault.PAUSE), new OtherRules() {
            @Override
            boolean covers(Past past, Position found) {
                return !past.isNone();
            }
        });
    }

    @Test
    void logThatDoesNotSettleIsFound() {
        assertFound(RESUME, 2, Set.of(Fault.PAUSE, Fault.LOSS), new OtherRules() {
            @Override
            boolean settles() {
                return false;
            }
        });
    }

    @Test
    void recoveryWindowThatTheNextOwnerForgetsIsFound() {
        assertFound(WAIT, 2, Set.of(Fault.CRASH, Fault.EMPTY), new OtherRules() {
            @Override
            long recoveringUntil(@Nullable Head head, long nowMillis) {
                return 0;
            }
        });
    }

    @Test
    void appendWithoutTheProcessesOwnViewIsFound() {
        assertFound(RESUME, 2, Set.of(Fault.PAUSE, Fault.RESTORE), new OtherRules() {
            @Override
            boolean hasOwnView(LogState log) {
                return true;
            }
        });
    }

    @Test
    void processThatForgetsAnOwnerItSawIsFound() {
        assertFound(RESUME, 3, Set.of(Fault.PAUSE, Fault.CRASH, Fault.FLUSH), new OtherRules() {
            @Override
            boolean isKnown(@Nullable Seen seen, Past past, Position found) {
                return true;
            }
        });
    }

    @Test
    void claimThatMakesALogWholeIsFound() {
        assertFound(WAIT, 2, Set.of(Fault.PAUSE, Fault.LOSS), new OtherRules() {
            @Override
            boolean isWhole(LogState log, ClaimRequest request) {
                return super.isWhole(log, request)
                        || (log.executedLast()
                                && Objects.requireNonNull(log.head()).seq() == 0);
            }
        });
    }

    @Test
    void halfRewrittenLogThatCountsAsWholeIsFound() {
        assertFound(RESUME, 2, Set.of(Fault.CRASH, Fault.LOSS), new OtherRules() {
            @Override
            boolean isWhole(LogState log, ClaimRequest request) {
                return super.isWhole(log, request)
                        || (log.executedLast() && !request.past().misses(log.position()));
            }
        });
    }

    @Test
    void memoryKeptAfterALossWithWaitIsFound() {
        assertFound(WAIT, 2, Set.of(Fault.PAUSE, Fault.LOSS), new OtherRules() {
            @Override
            boolean isMine(LogState log, Past past, String server, boolean whole) {
                return super.isMine(log, past, server, true);
            }
        });
    }

    @Test
    void memoryKeptAlthoughTheLogIsHeldIsFound() {
        OwnershipMachine keeps = new OwnershipMachine(new Settings(2 * WorldSetup.TICK, WorldSetup.TICK, true)) {
            @Override
            OwnershipStep superseded(Ownership server, long nextClaimMillis) {
                return OwnershipStep.of(server.in(Phase.SUSPENDED).wakingAt(nextClaimMillis));
            }
        };
        Set<Fault> kinds = Set.of(Fault.PAUSE, Fault.CRASH, Fault.EMPTY);
        assertFound(new WorldSetup(OURS, keeps, RESUME, kinds, 3, 1, false, 7, 0, 0, Set.of()));
    }

    @Test
    void keepAliveFromMemoryIsFound() {
        assertFound(setup(RESUME, 1, 9, Set.of(Fault.CUT)).with(Planted.KEEP_ALIVE_FROM_MEMORY));
    }

    @Test
    void otherBatchWithTheSameNumberIsFound() {
        assertFound(setup(RESUME, 1, 9, Set.of(Fault.CUT)).with(Planted.OTHER_BATCH));
    }

    @Test
    void leasesCountedFromTheClaimAreFound() {
        assertFound(setup(RESUME, 1, 11, Set.of(Fault.CRASH)).with(2, 11, 2).with(Planted.LEASES_FROM_THE_CLAIM));
    }

    private static class OtherRules extends LogRules {
        OtherRules() {
            super(2 * WorldSetup.TICK, WorldSetup.TICK);
        }
    }

    private static OwnershipMachine machine(boolean resumes) {
        return new OwnershipMachine(new Settings(2 * WorldSetup.TICK, WorldSetup.TICK, resumes));
    }

    private static WorldSetup setup(boolean resumes, int faults, int ticks, Set<Fault> kinds) {
        return new WorldSetup(OURS, machine(resumes), resumes, kinds, faults, 2, false, ticks, 0, 0, Set.of());
    }

    private static WorldSetup inFlight(boolean resumes, Set<Fault> kinds) {
        return new WorldSetup(OURS, machine(resumes), resumes, kinds, 1, 3, false, LONG ? 7 : 4, 0, 2, Set.of());
    }

    private static void assertHolds(OwnershipSearch search, WorldSetup setup) {
        assertThat(search.violation(setup)).as(setup.kinds().toString()).isEmpty();
    }

    private static void assertFound(boolean resumes, int faults, Set<Fault> kinds, LogRules planted) {
        assertFound(new WorldSetup(planted, machine(resumes), resumes, kinds, faults, 2, false, 8, 0, 0, Set.of()));
    }

    private static void assertFound(WorldSetup setup) {
        Optional<String> found = new OwnershipSearch().violation(setup);
        assertThat(found).as("the planted bug").isPresent();
    }
}
