package dev.palisade.server.store.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.GrantId;
import dev.palisade.contract.LockName;
import dev.palisade.contract.SessionId;
import dev.palisade.server.core.Renew;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RenewalsTest {
    private final Map<Integer, Domain> domains = new HashMap<>();

    private List<Renewals> calls(int leases, boolean oneDomainEach) {
        List<Renew> all = new ArrayList<>();
        for (int i = 0; i < leases; i++) {
            all.add(new Renew(
                    new LockName("lock/" + i), new GrantId(1, i), new FencingToken(i + 1), new SessionId(0, 1)));
        }
        return Renewals.of(all, this::domain, new byte[0], oneDomainEach);
    }

    private Domain domain(LockName lock) {
        return domains.computeIfAbsent(lock.domain(), number -> new Domain("p", number));
    }

    @Test
    void aCallIsAsLongAsItMayBe() {
        assertThat(calls(0, false)).isEmpty();
        assertThat(calls(1_000, false)).extracting(call -> call.leases.size()).containsOnly(64, 1_000 % 64);
    }

    @Test
    void everyLeaseIsAskedForOnceWithItsOwnKeysAndWords() {
        List<Renew> seen = new ArrayList<>();
        for (Renewals call : calls(1_000, false)) {
            assertThat(call.keys).hasSize(3 * call.leases.size());
            assertThat(call.args).hasSize(2 + 3 * call.leases.size());
            for (int i = 0; i < call.leases.size(); i++) {
                Renew lease = call.leases.get(i);
                Domain domain = domain(lease.lock());
                assertThat(call.keys.get(3 * i)).isEqualTo(domain.token);
                assertThat(call.keys.get(3 * i + 1)).isEqualTo(domain.due);
                assertThat(call.keys.get(3 * i + 2)).isEqualTo(domain.lockKey(lease.lock()));
                assertThat(call.args.get(3 * i + 3)).isEqualTo(lease.grant().toBytes());
                assertThat(call.args.get(3 * i + 4))
                        .asString()
                        .isEqualTo(Long.toString(lease.token().value()));
                seen.add(lease);
            }
        }
        assertThat(seen).doesNotHaveDuplicates().hasSize(1_000);
    }

    /** Its epoch is looked at once for all that follow each other. */
    @Test
    void whatIsOfOneDomainIsTogether() {
        List<byte[]> counters = new ArrayList<>();
        for (Renewals call : calls(1_000, false)) {
            for (int i = 0; i < call.keys.size(); i += 3) {
                if (counters.isEmpty() || counters.get(counters.size() - 1) != call.keys.get(i)) {
                    counters.add(call.keys.get(i));
                }
            }
        }
        assertThat(counters).doesNotHaveDuplicates();
    }

    @Test
    void whereKeysAreSpreadACallIsOfOneDomain() {
        List<Renewals> calls = calls(1_000, true);
        assertThat(calls)
                .hasSize(domains.size())
                .allSatisfy(call -> assertThat(call.leases)
                        .extracting(lease -> lease.lock().domain())
                        .containsOnly(call.leases.get(0).lock().domain()));
    }

    @Test
    void whatTheReplyDoesNotCallDoneIsLeft() {
        Renewals call = calls(3, false).get(0);
        assertThat(call.left(List.of(CommandWords.text("101"), 0L))).containsExactly(call.leases.get(1));
    }
}
