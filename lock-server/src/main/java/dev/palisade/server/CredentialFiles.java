package dev.palisade.server;

import dev.palisade.contract.EventLog;
import dev.palisade.contract.crypto.KeysetFile;
import dev.palisade.contract.grpc.ReloadableTls;
import dev.palisade.server.access.AccessControl;
import dev.palisade.server.metrics.CredentialFile;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Check of the files with rights and keys of a running server: takes over new content, and reports what cannot be used. The TLS files
 * are checked by {@link ReloadableTls}. {@link #isUsable} is for all threads, {@link #check} for one.
 */
final class CredentialFiles implements AutoCloseable {
    private static final long CHECK_MILLIS = 1_000;

    private final @Nullable ReloadableTls tls;
    private final @Nullable AccessControl access;
    private final SequencerSigning signing;
    private final EventLog events;
    private final Map<Path, String> reported = new HashMap<>();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread made = new Thread(task, "palisade-access-files");
        made.setDaemon(true);
        return made;
    });

    CredentialFiles(
            @Nullable ReloadableTls tls, @Nullable AccessControl access, SequencerSigning signing, EventLog events) {
        this.tls = tls;
        this.access = access;
        this.signing = signing;
        this.events = events;
    }

    /** Whether the present content of every file of that kind is in use. */
    boolean isUsable(CredentialFile file) {
        return switch (file) {
            case TLS_CERTIFICATE -> tls == null || tls.isIdentityUsable();
            case TLS_CLIENT_CA -> tls == null || tls.areAuthoritiesUsable();
            case POLICY -> access == null || access.isPolicyUsable();
            case USERS -> access == null || access.areUsersUsable();
            case JWKS -> access == null || access.areJwtKeysUsable();
            case GUARD_GROUPS -> signing.areGroupsUsable();
            case KEYSET ->
                signing.keysets().stream().allMatch(keyset -> keyset.problem().isEmpty());
        };
    }

    /**
     * Calls {@link #check} every second, on a daemon thread of its own: files may be on a disk that hangs.
     *
     * @param changed ends the streams of clients whose rights are others now, or whose JWT expired
     */
    void watch(Runnable changed) {
        var unused =
                thread.scheduleWithFixedDelay(() -> check(changed), CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Ends the checks. */
    @Override
    public void close() {
        thread.shutdownNow();
    }

    /** Never throws: a task that does would be the last one. */
    void check(Runnable changed) {
        try {
            signing.reload().ifPresent(this::report);
            signing.keysets().forEach(this::check);
            if (access != null) {
                check(access, changed);
            }
        } catch (RuntimeException | Error e) {
            events.warn("access_file_unusable", "message", "the files were not checked (" + e + ")");
        }
    }

    private void check(AccessControl control, Runnable changed) {
        AccessControl.Reload found = control.reload();
        report(found);
        if (!found.replaced().isEmpty() || control.jwts() != null) {
            changed.run();
        }
    }

    private void report(AccessControl.Reload found) {
        found.mistakes().forEach(mistake -> events.warn("access_file_unusable", "message", mistake));
        found.restored().forEach(path -> events.tellAlways("access_file_usable", "path", path));
        found.replaced().forEach(path -> events.tellAlways("access_file_replaced", "path", path));
    }

    private void check(KeysetFile keyset) {
        String problem = keyset.problem().orElse("");
        String before = reported.put(keyset.path(), problem);
        if (problem.equals(before == null ? "" : before)) {
            return;
        }
        if (problem.isEmpty()) {
            events.tellAlways("keyset_usable", "path", keyset.path());
        } else {
            events.warn(
                    "keyset_unusable",
                    "message",
                    problem + "; the last good keys stay in use, and guards may have others");
        }
    }
}
