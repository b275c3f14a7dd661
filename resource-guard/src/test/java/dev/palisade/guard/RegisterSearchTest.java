package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Mode;
import dev.palisade.guard.AdmissionModel.Spec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Every order of steps of two and three calls at two guards with one register: no conflicting calls overlap or apply out of order.
 * Each way to share marks that is known to be wrong is found.
 */
class RegisterSearchTest {
    private static final Spec X33 = new Spec(Mode.EXCLUSIVE, 33, Access.WRITE);
    private static final Spec X34 = new Spec(Mode.EXCLUSIVE, 34, Access.WRITE);
    private static final Spec X34_READ = new Spec(Mode.EXCLUSIVE, 34, Access.READ);
    private static final Spec S32 = new Spec(Mode.SHARED, 32, Access.READ);
    private static final Spec S35 = new Spec(Mode.SHARED, 35, Access.READ);
    private static final List<Spec> ALL = List.of(S32, X33, X34, X34_READ, S35);

    /** Factory of the model under test: the real rules, or one with a bug. */
    interface Maker {
        RegisterModel make(List<Spec> specs, boolean mayPause, boolean mayDoubt);
    }

    @Test
    void noOrderOfThreeCallsBreaksTheRegister() {
        assertThat(statesWithoutViolation(triples(), false, false)).isGreaterThan(10_000);
    }

    @Test
    void noOrderOfTwoCallsWithDoubtsBreaksTheRegister() {
        assertThat(statesWithoutViolation(pairs(), false, true)).isGreaterThan(1_000);
    }

    @Test
    void noOrderOfTwoCallsWithPausesBreaksTheRegister() {
        assertThat(statesWithoutViolation(pairs(), true, false)).isGreaterThan(10_000);
    }

    @Test
    void entryEndedByTimeIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            long takenOverAfter() {
                return 0;
            }
        });
    }

    @Test
    void localCacheOfAMarkIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            Mark markFor(int guard, Mark seenHere) {
                return seenHere;
            }
        });
    }

    @Test
    void compareAndRegisterInTwoStepsIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            boolean isOneStep() {
                return false;
            }
        });
    }

    @Test
    void entryRemovedByTheLeaveOfAnotherGuardIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            void leave(Call call) {
                entries.removeIf(entry -> entry.token() == call.spec.token());
            }
        });
    }

    @Test
    void waitWithoutASecondCompareIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            boolean comparesAgain() {
                return false;
            }
        });
    }

    @Test
    void startWithoutALeaseIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            boolean mayStart(boolean hasLease) {
                return true;
            }
        });
    }

    @Test
    void unknownCallThatLeavesAtOnceIsFound() {
        assertFound((specs, pause, doubt) -> new RegisterModel(specs, pause, doubt) {
            @Override
            boolean quarantines() {
                return false;
            }
        });
    }

    /** As in Redis: steps on rows that were read before, set if they are still so, and some that arrive late. */
    private static class Optimistic extends RegisterModel {
        Optimistic(List<Spec> specs, boolean mayPause, boolean mayDoubt) {
            super(specs, mayPause, mayDoubt);
        }

        @Override
        boolean isOptimistic() {
            return true;
        }
    }

    @Test
    void noOrderOfThreeOptimisticCallsBreaksTheRegister() {
        List<List<Spec>> unlike = triples().stream()
                .filter(specs -> Set.copyOf(specs).size() == 3)
                .toList();
        assertThat(statesWithoutViolation(Optimistic::new, unlike, false, false))
                .isGreaterThan(10_000);
    }

    @Test
    void noOrderOfTwoOptimisticCallsWithLateStepsBreaksTheRegister() {
        assertThat(statesWithoutViolation(Optimistic::new, pairs(), false, true))
                .isGreaterThan(1_000);
    }

    @Test
    void stepThatIsSetWithoutComparingIsFound() {
        assertFound((specs, pause, doubt) -> new Optimistic(specs, pause, doubt) {
            @Override
            boolean maySet(Guess guess) {
                return true;
            }
        });
    }

    @Test
    void stepThatComparesTheMarkAloneIsFound() {
        assertFound((specs, pause, doubt) -> new Optimistic(specs, pause, doubt) {
            @Override
            boolean maySet(Guess guess) {
                return guess.mark().equals(mark);
            }
        });
    }

    @Test
    void removalThatLeavesTheRowAsItWasIsFound() {
        Maker wrong = (specs, pause, doubt) -> new Optimistic(specs, pause, doubt) {
            @Override
            boolean removalLeavesAVersion() {
                return false;
            }
        };
        assertThat(found(wrong, pairs(), false, true)).as("the planted bug").isPresent();
    }

    private static long statesWithoutViolation(List<List<Spec>> all, boolean mayPause, boolean mayDoubt) {
        return statesWithoutViolation(RegisterModel::new, all, mayPause, mayDoubt);
    }

    private static long statesWithoutViolation(Maker maker, List<List<Spec>> all, boolean mayPause, boolean mayDoubt) {
        return all.parallelStream()
                .mapToLong(specs -> {
                    StepSearch search = new StepSearch();
                    assertThat(search.violation(() -> maker.make(specs, mayPause, mayDoubt)))
                            .as(specs.toString())
                            .isEmpty();
                    return search.states();
                })
                .sum();
    }

    private static void assertFound(Maker wrong) {
        Optional<String> found = found(wrong, triples(), false, false)
                .or(() -> found(wrong, pairs(), false, true))
                .or(() -> found(wrong, pairs(), true, false));
        assertThat(found).as("the planted bug").isPresent();
    }

    private static Optional<String> found(Maker wrong, List<List<Spec>> all, boolean mayPause, boolean mayDoubt) {
        return all.parallelStream()
                .flatMap(specs -> new StepSearch().violation(() -> wrong.make(specs, mayPause, mayDoubt)).stream())
                .findAny();
    }

    /** Call by call at the one and the other guard, so the order matters. */
    private static List<List<Spec>> pairs() {
        List<List<Spec>> pairs = new ArrayList<>();
        ALL.forEach(one -> ALL.forEach(two -> pairs.add(List.of(one, two))));
        return pairs;
    }

    private static List<List<Spec>> triples() {
        List<List<Spec>> triples = new ArrayList<>();
        pairs().forEach(pair -> ALL.subList(ALL.indexOf(pair.get(0)), ALL.size())
                .forEach(three -> triples.add(List.of(pair.get(0), pair.get(1), three))));
        return triples;
    }
}
