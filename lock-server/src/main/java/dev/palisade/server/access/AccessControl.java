package dev.palisade.server.access;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The policy, the users and the issuer's keys of now. Thread-safe, but {@link #reload} is for one thread. */
public final class AccessControl {
    private final AccessFile<Policy> policy;
    private final @Nullable AccessFile<UserTokens> users;
    private final @Nullable JwtAuthenticator jwts;
    private final List<Reloadable> sources = new ArrayList<>();
    private final RequestRates rates;

    /**
     * @param users null: no client has a token of this server
     * @param jwts null: no client has a JWT
     * @param nanos monotonic, for the rates of requests
     */
    public AccessControl(
            AccessFile<Policy> policy,
            @Nullable AccessFile<UserTokens> users,
            @Nullable JwtAuthenticator jwts,
            LongSupplier nanos) {
        rates = new RequestRates(nanos);
        this.policy = policy;
        this.users = users;
        this.jwts = jwts;
        sources.add(policy);
        if (users != null) {
            sources.add(users);
        }
        if (jwts != null) {
            sources.add(jwts.keys());
        }
    }

    /** Null when the server accepts no JWTs. */
    public @Nullable JwtAuthenticator jwts() {
        return jwts;
    }

    /** Whether the policy that is in the file is in use. */
    public boolean isPolicyUsable() {
        return policy.isUsable();
    }

    /** Whether the users that are in the file are in use; true without a file. */
    public boolean areUsersUsable() {
        return users == null || users.isUsable();
    }

    /** Whether the keys that the issuer has now are in use; true without JWTs. */
    public boolean areJwtKeysUsable() {
        return jwts == null || jwts.keys().isUsable();
    }

    /** What a client without a usable token can show, for its refusal. */
    public String advice() {
        String ofUsers =
                "the token of a user, as palisade users add makes it (--token-file FILE, or Authorization: Bearer TOKEN)";
        if (jwts == null) {
            return "send " + ofUsers;
        }
        return "send a JWT of " + jwts.issuer() + (users == null ? "" : ", or " + ofUsers);
    }

    /** The name of the user whose token it is. */
    public Optional<String> userOf(String token) {
        return users == null ? Optional.empty() : users.value().nameOf(token);
    }

    /** Whether a user of this name still has a token. */
    public boolean hasUser(String name) {
        return users != null && users.value().has(name);
    }

    /** What {@code principal} may do now. */
    public Rights rights(String principal) {
        return policy.value().rights(principal);
    }

    /**
     * Takes one of the requests that {@code principal} may make in a second.
     *
     * @return 0, or nanoseconds until there is one to take
     */
    public long takeRequest(String principal) {
        int perSecond = rights(principal).requestsPerSecondMax();
        return perSecond == 0 ? 0 : rates.take(principal, perSecond);
    }

    /** What a start says of it. */
    public List<String> shown() {
        List<String> lines = new ArrayList<>(List.of(policy.value().shown()));
        if (users != null) {
            lines.add(users.value().shown());
        }
        if (jwts != null) {
            lines.add(jwts.shown());
        }
        return lines;
    }

    /**
     * Result of one reload.
     *
     * @param replaced files and URLs whose new content is in use
     * @param restored of those that could not be used, whose content in use is there again
     * @param mistakes of those that cannot be used, and how long their last good content is
     */
    public record Reload(List<String> replaced, List<String> restored, List<String> mistakes) {
        /** Reads that file again. */
        public static Reload of(AccessFile<?> file) {
            return of(List.of(file));
        }

        private static Reload of(List<? extends Reloadable> sources) {
            List<String> replaced = new ArrayList<>();
            List<String> restored = new ArrayList<>();
            List<String> mistakes = new ArrayList<>();
            sources.forEach(source -> reload(source, replaced, restored, mistakes));
            return new Reload(replaced, restored, mistakes);
        }
    }

    /** Reads the files again, and fetches the keys when that is due. Call it every second or so. */
    public Reload reload() {
        return Reload.of(sources);
    }

    private static void reload(Reloadable source, List<String> replaced, List<String> restored, List<String> mistakes) {
        boolean wasUsable = source.isUsable();
        try {
            if (source.reload()) {
                replaced.add(source.source());
            } else if (!wasUsable && source.isUsable()) {
                restored.add(source.source());
            }
        } catch (FileMistakes e) {
            e.lines().forEach(line -> mistakes.add(line + "; " + source.keeps()));
        }
    }
}
