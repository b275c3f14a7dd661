package dev.palisade.patience;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * {@code await()} without a limit waits a minute. A wait ends as soon as its condition holds, so a longer limit costs only a
 * red test, and a slow machine is not a failure. Found by the test runner itself.
 */
public final class Patience implements LauncherSessionListener {
    private static final Duration LIMIT = Duration.ofMinutes(1);

    @Override
    public void launcherSessionOpened(LauncherSession session) {
        Awaitility.setDefaultTimeout(LIMIT);
    }
}
