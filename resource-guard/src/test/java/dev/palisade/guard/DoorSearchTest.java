package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.guard.DoorWorld.Maker;
import dev.palisade.guard.DoorWorld.Spec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Every order of steps of two to four calls at one door, with a slow disk, calls that are lost sight of, and one kill of the
 * guard: no conflicting calls overlap or apply out of order. Each way to build the door that is known to be wrong is found.
 *
 * <p>By default every eighth choice of calls. All of them: {@code -Dpalisade.door.share=1}.
 */
class DoorSearchTest {
    private static final Spec X33 = new Spec(Mode.EXCLUSIVE, 33, Access.WRITE);
    private static final Spec X33_READ = new Spec(Mode.EXCLUSIVE, 33, Access.READ);
    private static final Spec X34 = new Spec(Mode.EXCLUSIVE, 34, Access.WRITE);
    private static final Spec X34_READ = new Spec(Mode.EXCLUSIVE, 34, Access.READ);
    private static final Spec S32 = new Spec(Mode.SHARED, 32, Access.READ);
    private static final Spec S35 = new Spec(Mode.SHARED, 35, Access.READ);
    private static final Spec X36 = new Spec(Mode.EXCLUSIVE, 36, Access.WRITE);
    private static final List<Spec> ALL = List.of(S32, X33, X33_READ, X34, X34_READ, S35, X36);

    private static final int SHARE = Integer.getInteger("palisade.door.share", 8);

    private static final Maker OURS = Mutant::new;

    @Test
    void noOrderOfThreeCallsWithACrashAndLostCallsBreaksTheDoor() {
        assertThat(statesWithoutViolation(share(combinations(3)), true, true)).isGreaterThan(1_000_000 / SHARE);
    }

    @Test
    void noOrderOfTheseFourCallsWithACrashAndLostCallsBreaksTheDoor() {
        List<List<Spec>> these = List.of(List.of(S32, X33, X33, X34_READ), List.of(X33, X34, S35, X36));
        assertThat(statesWithoutViolation(SHARE == 1 ? these : these.subList(0, 1), true, true))
                .isGreaterThan(SHARE == 1 ? 600_000 : 100_000);
    }

    @Test
    void noOrderOfFourCallsBreaksTheDoor() {
        assertThat(statesWithoutViolation(share(combinations(4)), false, false)).isGreaterThan(1_000_000 / SHARE);
    }

    @Test
    void equalCallsThatRunAtOnceWhileAnOlderDrainsAreFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> seen = new HashSet<>();

            @Override
            void compare(Visit visit) {
                super.compare(visit);
                if (!seen.add(visit.sequencer().grant())) {
                    equal.add(visit);
                }
            }

            private final Set<Visit> equal = new HashSet<>();

            @Override
            boolean isBlocked(Visit visit) {
                return super.isBlocked(visit) && !equal.contains(visit);
            }
        });
    }

    @Test
    void aRetryAfterDrainingThatRunsAtOnceIsFound() {
        assertFound(List.of(X33, X33, X33_READ), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> drained = new HashSet<>();

            @Override
            public void giveUp(Visit visit, long nowNanos) {
                drained.add(visit.sequencer().grant());
                super.giveUp(visit, nowNanos);
            }

            @Override
            boolean isBlocked(Visit visit) {
                return super.isBlocked(visit)
                        && !drained.contains(visit.sequencer().grant());
            }
        });
    }

    @Test
    void aDoorThatComparesOnceIsFound() {
        assertFound(List.of(S32, X33, S35), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            void compareAgain(Visit visit) {}
        });
    }

    @Test
    void aVolatileMarkIsFound() {
        assertFound(List.of(S32, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isSaved(Visit visit) {
                return true;
            }
        });
    }

    @Test
    void aRefusalForAMarkThatIsNotDurableIsFound() {
        assertFound(List.of(S32, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isSaved(Visit visit) {
                return visit.isRefused() || super.isSaved(visit);
            }
        });
    }

    @Test
    void readsThatDoNotRaiseTheMarkAreFound() {
        assertFound(List.of(X33, X34_READ, X36), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            void raise(Mark next, Visit by) {
                if (by.access() == Access.WRITE) {
                    super.raise(next, by);
                }
            }
        });
    }

    @Test
    void checkThenWriteIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isBlocked(Visit visit) {
                return false;
            }
        });
    }

    @Test
    void aRestartWithoutQuarantineIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, now));
    }

    @Test
    void aRestartThatLetsTheGrantThatWasInPassIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isBlocked(Visit visit) {
                boolean same =
                        saved.exclusiveToken() == visit.sequencer().token().value();
                return super.isBlocked(visit) && !same;
            }
        });
    }

    @Test
    void aLostCallThatIsTakenForEndedIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            public void outcomeUnknown(Visit visit, long untilNanos) {
                ended(visit, untilNanos - 10);
            }
        });
    }

    @Test
    void aHolderThatPassesItsOwnLostWriteIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> lost = new HashSet<>();

            @Override
            public void outcomeUnknown(Visit visit, long untilNanos) {
                lost.add(visit.sequencer().grant());
                super.outcomeUnknown(visit, untilNanos);
            }

            @Override
            boolean isBlocked(Visit visit) {
                return super.isBlocked(visit)
                        && !lost.contains(visit.sequencer().grant());
            }
        });
    }

    @Test
    void readersThatDoNotWaitForAWriterAreFound() {
        assertFound(List.of(X33, S35, S35), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isBlocked(Visit visit) {
                return super.isBlocked(visit) && visit.sequencer().mode() == Mode.EXCLUSIVE;
            }
        });
    }

    private static long statesWithoutViolation(List<List<Spec>> all, boolean mayCrash, boolean mayLoseSight) {
        return all.parallelStream()
                .mapToLong(specs -> {
                    DoorSearch search = new DoorSearch(OURS, mayCrash, mayLoseSight);
                    assertThat(search.violation(specs)).isEmpty();
                    return search.states();
                })
                .sum();
    }

    /** Spread over all of them, so that every call and every pair of calls is in it. */
    private static List<List<Spec>> share(List<List<Spec>> all) {
        List<List<Spec>> share = new ArrayList<>();
        for (int i = 0; i < all.size(); i += SHARE) {
            share.add(all.get(i));
        }
        return share;
    }

    /** By these calls, which are tried first because most others take longer to find it, or do not; else by any three. */
    private static void assertFound(List<Spec> first, Maker wrong) {
        Optional<String> found = new DoorSearch(wrong, true, true)
                .violation(first)
                .or(() -> combinations(3).parallelStream()
                        .flatMap(specs -> new DoorSearch(wrong, true, true).violation(specs).stream())
                        .findAny());
        assertThat(found).as("the planted bug").isPresent();
    }

    /** All ways to choose {@code count} calls, the same one twice included. */
    private static List<List<Spec>> combinations(int count) {
        List<List<Spec>> all = List.of(List.of());
        for (int i = 0; i < count; i++) {
            List<List<Spec>> longer = new ArrayList<>();
            for (List<Spec> specs : all) {
                int from = specs.isEmpty() ? 0 : ALL.indexOf(specs.get(specs.size() - 1));
                for (Spec next : ALL.subList(from, ALL.size())) {
                    List<Spec> more = new ArrayList<>(specs);
                    more.add(next);
                    longer.add(more);
                }
            }
            all = longer;
        }
        return all;
    }

    /** The door itself; a test changes one rule of it. */
    private static class Mutant extends Door {
        Mutant(Mark saved, long now, long closedUntil) {
            super("r", saved, 0, now, closedUntil);
        }
    }
}
