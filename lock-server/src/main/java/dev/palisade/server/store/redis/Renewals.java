package dev.palisade.server.store.redis;

import dev.palisade.contract.LockName;
import dev.palisade.server.core.Renew;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Leases of one session in the words of {@code renewals.lua}: as many as one call renews. It calls nobody. */
final class Renewals {
    static final String FUNCTION = "palisade_renewals";
    /** In one call: for the half of a millisecond that they take, Redis does nothing else. */
    static final int LEASES_MAX = 64;

    private static final byte DONE = '1';

    final List<byte[]> keys = new ArrayList<>(3 * LEASES_MAX);
    final List<byte[]> args = new ArrayList<>(2 + 3 * LEASES_MAX);
    final List<Renew> leases = new ArrayList<>(LEASES_MAX);

    private Renewals(byte[] settings, Renew first) {
        args.add(settings);
        args.add(first.session().toBytes());
    }

    /** @param oneDomainEach whether keys of two domains may be on two nodes */
    static List<Renewals> of(
            List<Renew> leases, Function<LockName, Domain> domains, byte[] settings, boolean oneDomainEach) {
        // What is of one domain follows each other: the function looks at its epoch once.
        Map<Domain, List<Renew>> byDomain = new LinkedHashMap<>();
        for (Renew lease : leases) {
            byDomain.computeIfAbsent(domains.apply(lease.lock()), domain -> new ArrayList<>())
                    .add(lease);
        }
        List<Renewals> calls = new ArrayList<>();
        byDomain.forEach((domain, all) -> {
            Renewals call = calls.isEmpty() || oneDomainEach ? null : calls.get(calls.size() - 1);
            for (Renew lease : all) {
                if (call == null || call.leases.size() == LEASES_MAX) {
                    call = new Renewals(settings, lease);
                    calls.add(call);
                }
                call.add(lease, domain);
            }
        });
        return calls;
    }

    private void add(Renew lease, Domain domain) {
        leases.add(lease);
        keys.add(domain.token);
        keys.add(domain.due);
        keys.add(domain.lockKey(lease.lock()));
        args.add(CommandWords.text(Long.toString(domain.floor())));
        args.add(lease.grant().toBytes());
        args.add(CommandWords.text(Long.toString(lease.token().value())));
    }

    /** Those to which nothing was done, as {@code reply} says. */
    List<Renew> left(List<Object> reply) {
        byte[] done = FunctionAnswer.bytes(reply.get(0));
        List<Renew> left = new ArrayList<>();
        for (int i = 0; i < leases.size(); i++) {
            if (done[i] != DONE) {
                left.add(leases.get(i));
            }
        }
        return left;
    }
}
