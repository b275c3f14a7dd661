package dev.palisade.server.engine;

import dev.palisade.contract.GrantId;
import dev.palisade.contract.Rejection;
import dev.palisade.server.core.Grant;
import dev.palisade.server.core.Limits;
import dev.palisade.server.core.LockRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Account of the requests of each principal that hold a lock or wait for one, as far as they came through this server.
 * Keeps the requests themselves, so one cannot be counted twice or taken off twice. An end that is never reported costs
 * at most the rest of the lease: before a principal is refused, requests are dropped that neither a stream nor a
 * pending call has, and whose lease has run out by itself. Thread-safe.
 */
final class LockUsage {
    /** Between two scans of one principal. */
    static final long SCAN_MILLIS = 1_000;

    /** Entries of one principal that are kept without a scan. */
    static final int UNSCANNED_MAX = 1_024;

    private final BiPredicate<LockRequest, @Nullable GrantId> isPending;
    private final Map<LockRequest, String> principals = new ConcurrentHashMap<>();
    private final Map<GrantId, LockRequest> granted = new ConcurrentHashMap<>();
    /** An account is only used within {@code compute}. */
    private final Map<String, Account> accounts = new ConcurrentHashMap<>();

    /**
     * @param waits whether it may come to wait, or waits
     * @param grant null before it was granted
     * @param untilMillis when it may be dropped, unless it is pending
     * @param detached whether its stream is gone, and no call has been of it since
     */
    private record Entry(boolean waits, @Nullable GrantId grant, long untilMillis, boolean detached) {}

    private static final class Account {
        private final Map<LockRequest, Entry> entries = new HashMap<>();
        private int waiting;
        private long scannedAtMillis = Long.MIN_VALUE / 2;
        private int scanAt = UNSCANNED_MAX;

        /** Returns whether it is new. */
        boolean put(LockRequest request, Entry entry) {
            Entry before = entries.put(request, entry);
            waiting += (entry.waits() ? 1 : 0) - (before != null && before.waits() ? 1 : 0);
            return before == null;
        }

        @Nullable
        Entry remove(LockRequest request) {
            Entry before = entries.remove(request);
            waiting -= before != null && before.waits() ? 1 : 0;
            return before;
        }
    }

    /**
     * @param isPending whether a stream or a unary call of this server has the request. Its second argument is the
     *     request's grant, null before there is one. Must not call this object
     */
    LockUsage(BiPredicate<LockRequest, @Nullable GrantId> isPending) {
        this.isPending = isPending;
    }

    /**
     * Counts an acquire, before it is sent to the store. A request that is counted already is let pass.
     *
     * @param mayWait whether it may come to wait
     * @return why it is refused
     */
    Optional<Rejection> enter(LockRequest request, boolean mayWait, LockQuota quota, long nowMillis) {
        if (quota.principal().isEmpty()) {
            return Optional.empty();
        }
        AtomicReference<@Nullable Rejection> refused = new AtomicReference<>();
        accounts.compute(quota.principal(), (principal, known) -> {
            Account account = known == null ? new Account() : known;
            if (!account.entries.containsKey(request)) {
                Rejection excess = excess(account, mayWait, quota);
                if (excess != null && scan(account, nowMillis)) {
                    excess = excess(account, mayWait, quota);
                }
                refused.set(excess);
                if (excess == null) {
                    put(
                            account,
                            principal,
                            request,
                            new Entry(mayWait, null, nowMillis + SCAN_MILLIS, false),
                            nowMillis);
                }
            }
            return account.entries.isEmpty() ? null : account;
        });
        return Optional.ofNullable(refused.get());
    }

    private static @Nullable Rejection excess(Account account, boolean mayWait, LockQuota quota) {
        String principal = quota.principal();
        int locks = account.entries.size();
        if (locks >= quota.locksMax()) {
            return refusal(
                    "locks",
                    principal + " holds or waits for " + locks + " locks, and may not for more; release"
                            + " some, or give it more in the policy: limit " + principal + " locks=NUMBER");
        }
        if (mayWait && account.waiting >= quota.waitersMax()) {
            return refusal(
                    "waiters",
                    principal + " waits for " + account.waiting + " locks, and may not for more; ask"
                            + " without waiting, or give it more in the policy: limit " + principal
                            + " waiters=NUMBER");
        }
        return null;
    }

    private static Rejection refusal(String limit, String message) {
        return Limits.exceeded(limit, message)
                .with(Rejection.RETRY_AFTER_MILLIS, Long.toString(SCAN_MILLIS))
                .with(Rejection.APPLIED, "no");
    }

    /** The request holds its lock: it was granted, resumed or renewed. Counted whatever the limits. */
    void holds(String principal, LockRequest request, Grant grant, long nowMillis) {
        if (!principal.isEmpty()) {
            accounts.compute(principal, (same, known) -> {
                Account account = known == null ? new Account() : known;
                put(
                        account,
                        principal,
                        request,
                        new Entry(false, grant.id(), grant.expiresAtMillis(), false),
                        nowMillis);
                granted.put(grant.id(), request);
                return account;
            });
        }
    }

    /** Whose request it is; empty: not known here. */
    String principal(LockRequest request) {
        return principals.getOrDefault(request, "");
    }

    /** From now on no stream may have the request. It counts until {@code untilMillis}, unless it ends before. */
    void detached(LockRequest request, long untilMillis) {
        String principal = principals.get(request);
        if (principal != null) {
            accounts.computeIfPresent(principal, (same, account) -> {
                account.entries.computeIfPresent(
                        request, (one, entry) -> new Entry(entry.waits(), entry.grant(), untilMillis, true));
                return account;
            });
        }
    }

    /** Another server has the grant, or none has. Of no effect when a call or a newer stream here used it since {@link #detached}. */
    void moved(GrantId grant) {
        LockRequest request = granted.get(grant);
        String principal = request == null ? null : principals.get(request);
        if (request != null && principal != null) {
            accounts.computeIfPresent(principal, (same, account) -> {
                Entry entry = account.entries.get(request);
                if (entry != null && entry.detached()) {
                    remove(account, request);
                }
                return account.entries.isEmpty() ? null : account;
            });
        }
    }

    /** The request has ended, or came to nothing. */
    void ended(LockRequest request) {
        String principal = principals.get(request);
        if (principal != null) {
            accounts.computeIfPresent(principal, (same, account) -> {
                remove(account, request);
                return account.entries.isEmpty() ? null : account;
            });
        }
    }

    /** The grant has ended. */
    void ended(GrantId grant) {
        LockRequest request = granted.get(grant);
        if (request != null) {
            ended(request);
        }
    }

    /** Another server counts from now on. */
    void forgetAll() {
        accounts.keySet()
                .forEach(principal -> accounts.computeIfPresent(principal, (same, account) -> {
                    List.copyOf(account.entries.keySet()).forEach(request -> remove(account, request));
                    return null;
                }));
    }

    private void put(Account account, String principal, LockRequest request, Entry entry, long nowMillis) {
        if (account.put(request, entry)) {
            principals.put(request, principal);
            if (account.entries.size() >= account.scanAt) {
                scan(account, nowMillis);
                account.scanAt = Math.max(UNSCANNED_MAX, 2 * account.entries.size());
            }
        }
    }

    private void remove(Account account, LockRequest request) {
        Entry entry = account.remove(request);
        if (entry != null) {
            principals.remove(request);
            if (entry.grant() != null) {
                granted.remove(entry.grant());
            }
        }
    }

    /** Returns whether it was time for one. */
    private boolean scan(Account account, long nowMillis) {
        if (nowMillis - account.scannedAtMillis < SCAN_MILLIS) {
            return false;
        }
        account.scannedAtMillis = nowMillis;
        account.entries.entrySet().stream()
                .filter(entry -> entry.getValue().untilMillis() < nowMillis
                        && !isPending.test(entry.getKey(), entry.getValue().grant()))
                .map(Map.Entry::getKey)
                .toList()
                .forEach(request -> remove(account, request));
        return true;
    }

    boolean counts(LockRequest request) {
        return principals.containsKey(request);
    }

    /** Requests that hold a lock or wait for one. */
    int locks(String principal) {
        Account account = accounts.get(principal);
        return account == null ? 0 : account.entries.size();
    }

    /** Of all principals. */
    int size() {
        return Math.max(principals.size(), granted.size());
    }
}
