package dev.palisade.server.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Mode;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.RequestId;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.LockRequest;
import dev.palisade.server.core.Request;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The account alone, with the time as an argument. */
class LockUsageTest {
    private static final long TTL = 10_000;
    private static final LockQuota WEB = new LockQuota("web", 3, 2);

    private final Set<LockRequest> pending = new HashSet<>();
    private final LockUsage usage = new LockUsage((request, grant) -> pending.contains(request));

    private static LockRequest request(long number) {
        return new LockRequest(new LockName("a" + number), new RequestId(new SessionId(1, 1), number));
    }

    private static Grant grant(long number, long nowMillis) {
        Request request =
                new Request(request(number).id(), 1, new GrantId(1, number), Mode.EXCLUSIVE, TTL, 0, 0, "", "");
        return new Grant(request, new FencingToken(number), nowMillis, nowMillis + TTL);
    }

    private void isRefused(String limit, long number, boolean mayWait, long nowMillis) {
        assertThat(usage.enter(request(number), mayWait, WEB, nowMillis)).hasValueSatisfying(refused -> {
            assertThat(refused.reason()).isEqualTo(Reason.LIMIT_EXCEEDED);
            assertThat(refused.metadata())
                    .containsEntry(Rejection.LIMIT, limit)
                    .containsEntry(Rejection.APPLIED, "no")
                    .containsEntry(Rejection.RETRY_AFTER_MILLIS, "1000");
            assertThat(refused.message())
                    .startsWith("web ")
                    .endsWith("give it more in the policy: limit web " + limit + "=NUMBER");
        });
    }

    private void isCounted(long number, boolean mayWait, long nowMillis) {
        assertThat(usage.enter(request(number), mayWait, WEB, nowMillis)).isEmpty();
    }

    @Test
    void heldLocksAndWaitersAreLimitedAndGrantedWaitersMakeRoom() {
        isCounted(1, true, 0);
        isCounted(2, true, 0);
        isRefused("waiters", 3, true, 0);
        isCounted(3, false, 0);
        isRefused("locks", 4, false, 0);
        usage.holds("web", request(1), grant(1, 0), 0);
        isRefused("locks", 4, false, 0);
        usage.ended(request(3));
        isCounted(4, true, 0);
        isRefused("locks", 5, true, 0);
        assertThat(usage.locks("web")).isEqualTo(3);
    }

    @Test
    void repeatedRequestsCountOnceAndAreNeverRefused() {
        for (int i = 0; i < 5; i++) {
            isCounted(1, true, 0);
        }
        usage.holds("web", request(1), grant(1, 0), 0);
        usage.holds("web", request(1), grant(1, 0), 0);
        isCounted(2, true, 0);
        isCounted(3, true, 0);
        isCounted(1, true, 0);
        assertThat(usage.locks("web")).isEqualTo(3);
        usage.ended(new GrantId(1, 1));
        usage.ended(request(1));
        usage.ended(request(2));
        usage.ended(request(3));
        assertThat(usage.locks("web")).isZero();
        assertThat(usage.size()).as("nothing is kept").isZero();
    }

    @Test
    void resumedLocksCountBeyondTheLimit() {
        for (int i = 1; i <= 5; i++) {
            usage.holds("web", request(i), grant(i, 0), 0);
        }
        isRefused("locks", 6, false, 0);
        for (int i = 1; i <= 3; i++) {
            usage.ended(request(i));
        }
        isCounted(6, false, 0);
    }

    /** Where no end is reported, such as by a store that forgot the lease. */
    @Test
    void aLeaseThatRanOutUnreportedIsDroppedBeforeARefusal() {
        for (int i = 1; i <= 3; i++) {
            isCounted(i, false, 0);
            usage.holds("web", request(i), grant(i, 0), 0);
        }
        pending.add(request(1));
        isRefused("locks", 4, false, TTL);
        isRefused("locks", 4, false, TTL + 1); // Scanned less than a second ago.
        isCounted(4, false, TTL + LockUsage.SCAN_MILLIS);
        assertThat(usage.locks("web")).as("one on a stream, and the new one").isEqualTo(2);
    }

    @Test
    void aDetachedRequestCountsUntilItsLeaseCanLastNoLonger() {
        for (int i = 1; i <= 3; i++) {
            usage.holds("web", request(i), grant(i, 0), 0);
            pending.add(request(i));
        }
        isRefused("locks", 4, false, 100_000);
        usage.detached(request(1), 100_000 + TTL);
        pending.clear();
        usage.ended(request(2));
        usage.detached(request(3), 100_000 + TTL);
        isCounted(4, false, 105_000);
        isRefused("locks", 5, false, 105_000 + LockUsage.SCAN_MILLIS - 2_000);
    }

    @Test
    void aMovedLeaseIsNotCountedUnlessItCameBack() {
        for (int i = 1; i <= 2; i++) {
            usage.holds("web", request(i), grant(i, 0), 0);
            usage.detached(request(i), 1_000 + TTL);
        }
        usage.holds("web", request(2), grant(2, 500), 500);
        usage.moved(new GrantId(1, 1));
        usage.moved(new GrantId(1, 2));
        usage.moved(new GrantId(1, 3));
        assertThat(usage.counts(request(1))).isFalse();
        assertThat(usage.locks("web")).isEqualTo(1);
    }

    /** Also without a limit, in a policy or at all. */
    @Test
    void entriesThatNobodyEndsAreBounded() {
        LockQuota unlimited = new LockQuota("web", Integer.MAX_VALUE, Integer.MAX_VALUE);
        for (int i = 1; i <= 100_000; i++) {
            long now = i * 100L;
            assertThat(usage.enter(request(i), false, unlimited, now)).isEmpty();
            usage.holds("web", request(i), grant(i, now), now);
        }
        assertThat(usage.size()).isLessThan(2 * LockUsage.UNSCANNED_MAX);
    }

    @Test
    void withoutAuthenticationNothingIsCounted() {
        for (int i = 1; i <= 5; i++) {
            assertThat(usage.enter(request(i), true, LockQuota.NONE, 0)).isEmpty();
            usage.holds("", request(i), grant(i, 0), 0);
        }
        assertThat(usage.size()).isZero();
    }
}
