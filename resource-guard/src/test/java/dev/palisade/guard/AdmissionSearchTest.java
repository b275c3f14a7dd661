package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Mode;
import dev.palisade.guard.AdmissionModel.Maker;
import dev.palisade.guard.AdmissionModel.Spec;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Every order of steps of two to four calls at one resource, with a slow disk, calls with an unknown outcome, and
 * one kill of the guard. No conflicting calls overlap or apply out of order. Each way to build admission control
 * that is known to be wrong is found.
 *
 * <p>By default every eighth choice of calls. All of them: {@code -Dpalisade.admission.share=1}.
 */
class AdmissionSearchTest {
    private static final Spec X33 = new Spec(Mode.EXCLUSIVE, 33, Access.WRITE);
    private static final Spec X33_READ = new Spec(Mode.EXCLUSIVE, 33, Access.READ);
    private static final Spec X34 = new Spec(Mode.EXCLUSIVE, 34, Access.WRITE);
    private static final Spec X34_READ = new Spec(Mode.EXCLUSIVE, 34, Access.READ);
    private static final Spec S32 = new Spec(Mode.SHARED, 32, Access.READ);
    private static final Spec S35 = new Spec(Mode.SHARED, 35, Access.READ);
    private static final Spec X36 = new Spec(Mode.EXCLUSIVE, 36, Access.WRITE);
    private static final List<Spec> ALL = List.of(S32, X33, X33_READ, X34, X34_READ, S35, X36);

    private static final int SHARE = Integer.getInteger("palisade.admission.share", 8);

    private static final Maker REAL = Mutant::new;

    @Test
    void threeCallsWithACrashAndUnknownOutcomesAreSafe() {
        assertThat(statesWithoutViolation(share(combinations(3)), true, true)).isGreaterThan(1_000_000 / SHARE);
    }

    @Test
    void fourCallsWithACrashAndUnknownOutcomesAreSafe() {
        List<List<Spec>> these = List.of(List.of(S32, X33, X33, X34_READ), List.of(X33, X34, S35, X36));
        assertThat(statesWithoutViolation(SHARE == 1 ? these : these.subList(0, 1), true, true))
                .isGreaterThan(SHARE == 1 ? 600_000 : 100_000);
    }

    @Test
    void fourCallsAreSafe() {
        assertThat(statesWithoutViolation(share(combinations(4)), false, false)).isGreaterThan(1_000_000 / SHARE);
    }

    @Test
    void equalCallsThatRunAtOnceWhileAnOlderDrainsAreFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> seen = new HashSet<>();

            @Override
            void compare(AdmissionRequest request) {
                super.compare(request);
                if (!seen.add(request.sequencer().grant())) {
                    equal.add(request);
                }
            }

            private final Set<AdmissionRequest> equal = new HashSet<>();

            @Override
            boolean isBlocked(AdmissionRequest request) {
                return super.isBlocked(request) && !equal.contains(request);
            }
        });
    }

    @Test
    void aRetryAfterDrainingThatRunsAtOnceIsFound() {
        assertFound(List.of(X33, X33, X33_READ), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> drained = new HashSet<>();

            @Override
            public void abandon(AdmissionRequest request, long nowNanos) {
                drained.add(request.sequencer().grant());
                super.abandon(request, nowNanos);
            }

            @Override
            boolean isBlocked(AdmissionRequest request) {
                return super.isBlocked(request)
                        && !drained.contains(request.sequencer().grant());
            }
        });
    }

    @Test
    void admissionThatComparesOnceIsFound() {
        assertFound(List.of(S32, X33, S35), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            void compareAgain(AdmissionRequest request) {}
        });
    }

    @Test
    void aVolatileMarkIsFound() {
        assertFound(List.of(S32, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isSaved(AdmissionRequest request) {
                return true;
            }
        });
    }

    @Test
    void aRefusalForAMarkThatIsNotDurableIsFound() {
        assertFound(List.of(S32, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isSaved(AdmissionRequest request) {
                return request.isRefused() || super.isSaved(request);
            }
        });
    }

    @Test
    void readsThatDoNotRaiseTheMarkAreFound() {
        assertFound(List.of(X33, X34_READ, X36), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            void raise(Mark next, AdmissionRequest by) {
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
            boolean isBlocked(AdmissionRequest request) {
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
            boolean isBlocked(AdmissionRequest request) {
                boolean same =
                        saved.exclusiveToken() == request.sequencer().token().value();
                return super.isBlocked(request) && !same;
            }
        });
    }

    @Test
    void unknownCallThatIsTakenForEndedIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            public void outcomeUnknown(AdmissionRequest request, long untilNanos) {
                ended(request, untilNanos - 10);
            }
        });
    }

    @Test
    void holderThatPassesItsOwnUnknownWriteIsFound() {
        assertFound(List.of(X33, X33, X33), (saved, now, until) -> new Mutant(saved, now, until) {
            private final Set<GrantId> unknown = new HashSet<>();

            @Override
            public void outcomeUnknown(AdmissionRequest request, long untilNanos) {
                unknown.add(request.sequencer().grant());
                super.outcomeUnknown(request, untilNanos);
            }

            @Override
            boolean isBlocked(AdmissionRequest request) {
                return super.isBlocked(request)
                        && !unknown.contains(request.sequencer().grant());
            }
        });
    }

    @Test
    void readersThatDoNotWaitForAWriterAreFound() {
        assertFound(List.of(X33, S35, S35), (saved, now, until) -> new Mutant(saved, now, until) {
            @Override
            boolean isBlocked(AdmissionRequest request) {
                return super.isBlocked(request) && request.sequencer().mode() == Mode.EXCLUSIVE;
            }
        });
    }

    private static long statesWithoutViolation(List<List<Spec>> all, boolean mayCrash, boolean mayBeUnknown) {
        return all.parallelStream()
                .mapToLong(specs -> {
                    AdmissionSearch search = new AdmissionSearch(REAL, mayCrash, mayBeUnknown);
                    assertThat(search.violation(specs)).isEmpty();
                    return search.states();
                })
                .sum();
    }

    /** Spread over all of them, so that it contains every call and every pair of calls. */
    private static List<List<Spec>> share(List<List<Spec>> all) {
        List<List<Spec>> share = new ArrayList<>();
        for (int i = 0; i < all.size(); i += SHARE) {
            share.add(all.get(i));
        }
        return share;
    }

    /**
     * Tries these calls first, because most others take longer to find the violation, or do not find it. Then any
     * three.
     */
    private static void assertFound(List<Spec> first, Maker wrong) {
        Optional<String> found = new AdmissionSearch(wrong, true, true)
                .violation(first)
                .or(() -> combinations(3).parallelStream()
                        .flatMap(specs -> new AdmissionSearch(wrong, true, true).violation(specs).stream())
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

    /** The real admission control; a test changes one rule of it. */
    private static class Mutant extends AdmissionControl {
        Mutant(Mark saved, long now, long closedUntil) {
            super("r", saved, 0, now, closedUntil);
        }
    }
}
