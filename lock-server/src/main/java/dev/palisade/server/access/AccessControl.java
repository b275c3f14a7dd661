package dev.palisade.server.access;

import io.github.bucket4j.TimeMeter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The policy and the users of now. Thread-safe, but {@link #reload} is for one thread. */
public final class AccessControl {
    private final AccessFile<Policy> policy;
    private final @Nullable AccessFile<UserTokens> users;
    private final RequestRates rates = new RequestRates(TimeMeter.SYSTEM_NANOTIME);

    /** @param users null: clients have certificates only */
    public AccessControl(AccessFile<Policy> policy, @Nullable AccessFile<UserTokens> users) {
        this.policy = policy;
        this.users = users;
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
        return lines;
    }

    /**
     * Result of one reload.
     *
     * @param replaced files whose new content is in use
     * @param mistakes of files whose last good content stays in use
     */
    public record Reload(List<String> replaced, List<String> mistakes) {}

    /** Reads the files again. Call it every second or so. */
    public Reload reload() {
        List<String> replaced = new ArrayList<>();
        List<String> mistakes = new ArrayList<>();
        reload(policy, replaced, mistakes);
        if (users != null) {
            reload(users, replaced, mistakes);
        }
        return new Reload(replaced, mistakes);
    }

    private static void reload(AccessFile<?> file, List<String> replaced, List<String> mistakes) {
        try {
            if (file.reload()) {
                replaced.add(file.path().toString());
            }
        } catch (FileMistakes e) {
            mistakes.addAll(e.lines());
        }
    }
}
