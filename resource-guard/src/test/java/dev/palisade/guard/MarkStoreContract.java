package dev.palisade.guard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.guard.MarkStore.StoredMark;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What every store that keeps marks must do; each kind of store runs it over a place of its own. */
abstract class MarkStoreContract {
    private final List<MarkStore> opened = new ArrayList<>();

    /** One more store over the same place, which is empty when the test starts. */
    abstract MarkStore store();

    /** Makes the place that of a store in which nothing was ever used. */
    abstract void createNeverUsed();

    /** From now on the open store cannot write anything that is more than 1 MiB. */
    abstract void breakIt() throws Exception;

    @AfterEach
    void closeAll() {
        opened.forEach(MarkStore::close);
    }

    static StoredMark mark(String resource, long token) {
        Mark mark = new Mark(token, new GrantId(token, ~token), token - 1);
        return new StoredMark(resource, "palisade", new LockName("lock of " + resource), mark, 1_000_000 + token);
    }

    static BaseMark base(int domain, long token) {
        return new BaseMark("palisade", domain, token);
    }

    static void await(CompletionStage<Void> stage) throws Exception {
        stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    static void assertUnavailable(ThrowingCallable call, String... words) {
        assertThatThrownBy(call).isInstanceOfSatisfying(RejectedException.class, e -> assertUnavailable(e, words));
    }

    static void assertFails(CompletionStage<Void> stage, String... words) {
        assertThatThrownBy(() -> await(stage))
                .cause()
                .isInstanceOfSatisfying(RejectedException.class, e -> assertUnavailable(e, words));
    }

    private static void assertUnavailable(RejectedException e, String... words) {
        assertThat(e.reason()).isEqualTo(Reason.MARK_UNAVAILABLE);
        assertThat(e.rejection().message()).doesNotContain("\n").contains(words);
    }

    final MarkStore open() {
        MarkStore store = store();
        store.open();
        opened.add(store);
        return store;
    }

    /** What a new opener finds; it gives the store up at once, and not in order. */
    final KeptMarks found() {
        try (MarkStore store = store()) {
            return store.open();
        }
    }

    @Test
    void aNewStoreIsEmptyAndMayStandInForOneThatWasLost() {
        assertThat(found()).isEqualTo(new KeptMarks(false, false, List.of(), List.of()));
        assertThat(found().complete()).as("and stays so").isFalse();
    }

    @Test
    void whatWasAcknowledgedIsFoundWhole() throws Exception {
        String longest = "\ud83d\udd12" + "r".repeat(Binding.RESOURCE_BYTES_MAX - 4);
        Mark sharedOnly = new Mark(0, null, FencingToken.MAX);
        List<StoredMark> marks = List.of(
                mark("a", 7),
                new StoredMark(longest, "i".repeat(64), new LockName("l".repeat(256)), sharedOnly, Long.MAX_VALUE),
                new StoredMark("none", "palisade", new LockName("n"), Mark.NONE, 0));
        MarkStore store = open();
        for (StoredMark mark : marks) {
            await(store.put(mark));
        }
        await(store.putBase(base(255, FencingToken.MAX), List.of()));
        store.close();

        KeptMarks kept = found();
        assertThat(kept.marks()).containsExactlyInAnyOrderElementsOf(marks);
        assertThat(kept.bases()).containsExactly(base(255, FencingToken.MAX));
    }

    @Test
    void theLastPutOfAResourceIsTheOneThatIsKept() throws Exception {
        MarkStore store = open();
        CompletionStage<Void> last = store.put(mark("a", 1));
        for (int token = 2; token <= 500; token++) {
            store.put(mark("b", token));
            last = store.put(mark("a", token));
        }
        await(last);
        store.close();
        assertThat(found().marks()).containsExactlyInAnyOrder(mark("a", 500), mark("b", 500));
    }

    @Test
    void aResourceThatWasBoundToAnotherLockKeepsTheNewOne() throws Exception {
        StoredMark other = new StoredMark("a", "another", new LockName("other"), new Mark(3, new GrantId(1, 2), 0), 5);
        MarkStore store = open();
        await(store.put(mark("a", 700)));
        await(store.put(other));
        store.close();
        assertThat(found().marks()).containsExactly(other);
    }

    @Test
    void aBaseMarkDropsTheMarksItStandsForAndNoOthers() throws Exception {
        MarkStore store = open();
        store.put(mark("a", 1));
        store.put(mark("b", 2));
        store.put(mark("c", 3));
        await(store.putBase(base(4, 10), List.of("a", "b", "never there")));
        await(store.put(mark("b", 11)));
        store.close();

        KeptMarks kept = found();
        assertThat(kept.marks()).containsExactlyInAnyOrder(mark("c", 3), mark("b", 11));
        assertThat(kept.bases()).containsExactly(base(4, 10));
    }

    @Test
    void baseMarksAreKeptPerIssuerAndDomainAndZeroIsOneOfThem() throws Exception {
        MarkStore store = open();
        BaseMark elsewhere = new BaseMark("another", 4, 9);
        store.putBase(base(4, 0), List.of());
        store.putBase(base(5, 0), List.of());
        store.putBase(elsewhere, List.of());
        await(store.putBase(base(5, 6), List.of()));
        store.close();
        assertThat(found().bases()).containsExactlyInAnyOrder(base(4, 0), base(5, 6), elsewhere);
    }

    @Test
    void stagesCompleteInTheOrderOfTheCalls() throws Exception {
        MarkStore store = open();
        Thread caller = Thread.currentThread();
        List<Integer> toldByTheStore = Collections.synchronizedList(new ArrayList<>());
        CompletionStage<Void> last = store.confirm();
        for (int i = 0; i < 300; i++) {
            int number = i;
            last = i % 3 == 0 ? store.putBase(base(i % 256, i), List.of()) : store.put(mark("r" + i, i + 1));
            last = last.thenRun(() -> {
                // A hook that comes too late runs at once, on this thread.
                if (!Thread.currentThread().equals(caller)) {
                    toldByTheStore.add(number);
                }
            });
        }
        await(last);
        store.close();
        assertThat(toldByTheStore).isSorted();
    }

    @Test
    void closedInOrderHoldsOnceAndOnlyForTheLastToHaveIt() {
        open().close(true);
        assertThat(found().closedInOrder()).as("as it was closed").isTrue();
        assertThat(found().closedInOrder())
                .as("after one that was not closed in order")
                .isFalse();
        open().close(false);
        assertThat(found().closedInOrder()).isFalse();
    }

    @Test
    void closingKeepsWhatWasPutBefore() {
        MarkStore store = open();
        List<StoredMark> marks = new ArrayList<>();
        for (int i = 1; i <= 2000; i++) {
            marks.add(mark("r" + i, i));
            store.put(mark("r" + i, i));
        }
        store.close(true);
        KeptMarks kept = found();
        assertThat(Set.copyOf(kept.marks())).isEqualTo(Set.copyOf(marks));
        assertThat(kept.closedInOrder()).isTrue();
    }

    @Test
    void aClosedStoreTakesNothingMore() {
        MarkStore store = open();
        store.close(true);
        assertFails(store.put(mark("a", 1)), "closed");
        assertFails(store.putBase(base(1, 1), List.of("a")), "closed");
        assertFails(store.confirm(), "closed");
        store.close(false);
        KeptMarks kept = found();
        assertThat(kept.marks()).isEmpty();
        assertThat(kept.closedInOrder()).as("the first close counts").isTrue();
    }

    @Test
    void afterAFailureEverythingFailsAndNothingIsTriedAgain() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        breakIt();
        List<String> much =
                IntStream.range(0, 4000).mapToObj(i -> i + "x".repeat(400)).toList();
        CompletionStage<Void> first = store.putBase(base(1, 2), much);
        CompletionStage<Void> second = store.put(mark("b", 2));
        assertFails(first, "may or may not");
        assertFails(second, "may or may not");
        assertFails(store.confirm(), "may or may not");
        assertFails(store.putBase(base(1, 9), List.of("a")), "may or may not");
        store.close(true);
        assertFails(store.put(mark("a", 3)), "may or may not");
        for (CompletionStage<Void> stage : List.of(first, store.confirm())) {
            assertThat(stage.handle((nothing, failure) -> failure)
                            .toCompletableFuture()
                            .join())
                    .as("unwrapped")
                    .isInstanceOf(RejectedException.class);
        }
    }

    @Test
    void anUnopenedStoreKeepsNothingAndSaysSo() {
        try (MarkStore store = store()) {
            assertThatThrownBy(() -> store.put(mark("a", 1))).isInstanceOf(IllegalStateException.class);
        }
        open().close();
    }

    @Test
    void aStoreIsOpenedOnce() {
        MarkStore store = open();
        assertThatThrownBy(store::open).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void oneThatNothingWasEverGuardedUnderIsCompleteForGood() throws Exception {
        createNeverUsed();
        assertThat(found()).isEqualTo(new KeptMarks(true, true, List.of(), List.of()));
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        store.close(true);
        KeptMarks kept = found();
        assertThat(kept).isEqualTo(new KeptMarks(true, true, List.of(mark("a", 1)), List.of()));
    }

    @Test
    void registrationsAreKeptByName() throws Exception {
        String longest = "\ud83d\udd12" + "n".repeat(196);
        MarkStore store = open();
        await(store.putRegistration("shop.Orders", 7));
        store.putRegistration("shop.Orders", 9);
        await(store.putRegistration(longest, FencingToken.MAX));
        await(store.putRegistration("refused", 0));
        store.close();
        assertThat(found().registrations())
                .isEqualTo(Map.of("shop.Orders", 9L, longest, FencingToken.MAX, "refused", 0L));
    }

    /** In the order of the calls, also where all of them are kept in one step. */
    @Test
    void forgottenMarksMakeAStoreThatIsNotComplete() throws Exception {
        createNeverUsed();
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        await(store.putRegistration("shop.Orders", 7));
        store.put(mark("b", 2));
        store.putBase(base(1, 5), List.of());
        store.putRegistration("shop.Orders", 8);
        store.forgetMarks();
        store.put(mark("c", 3));
        await(store.putBase(base(2, 6), List.of()));
        store.close(true);
        assertThat(found())
                .isEqualTo(new KeptMarks(
                        false, true, List.of(mark("c", 3)), List.of(base(2, 6)), Map.of("shop.Orders", 8L)));
    }

    @Test
    void marksKeepTheirIdentity() throws Exception {
        createNeverUsed();
        MarkStore first = open();
        String id = first.id();
        assertThat(id).hasSize(32);
        await(first.put(mark("a", 1)));
        first.close();
        MarkStore again = open();
        assertThat(again.id()).isEqualTo(id);
        again.close();
        assertThat(open().id()).isEqualTo(id);
    }

    @Test
    void aStoreThatIsThereIsNotMadeNeverUsed() throws Exception {
        MarkStore store = open();
        await(store.put(mark("a", 1)));
        store.close();
        assertUnavailable(this::createNeverUsed, "already");
        assertThat(found()).isEqualTo(new KeptMarks(false, false, List.of(mark("a", 1)), List.of()));
    }
}
