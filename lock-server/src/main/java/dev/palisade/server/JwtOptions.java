package dev.palisade.server;

import dev.palisade.contract.cli.DurationOption;
import dev.palisade.contract.cli.Settings;
import dev.palisade.server.access.FileMistakes;
import dev.palisade.server.access.JwtAuthenticator;
import dev.palisade.server.access.JwtSettings;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options of clients with a JWT, and the threads that verify it. */
final class JwtOptions {
    private static final Duration CLOCK_SKEW_MAX = Duration.ofMinutes(5);
    private static final int TEXT_MAX = 512;

    @Option(
            names = "--jwt-issuer",
            paramLabel = "TEXT",
            description =
                    "Accept JWTs of this OIDC issuer: the claim iss. Needs --jwt-audience, --jwt-jwks and --policy.")
    @Nullable
    String issuer;

    @Option(names = "--jwt-audience", paramLabel = "TEXT", description = "This lock service, in the claim aud of JWTs.")
    @Nullable
    String audience;

    @Option(
            names = "--jwt-jwks",
            paramLabel = "FILE|URL",
            description =
                    "The issuer's public keys, as a JWK set. A file is read again when it changes; a URL is fetched "
                            + "again every 5 minutes, and when a JWT has an unknown key.")
    @Nullable
    String jwks;

    @Option(
            names = "--jwt-principal-claim",
            paramLabel = "CLAIM",
            defaultValue = JwtSettings.SUBJECT,
            description = "Claim that names the client; in the policy jwt:VALUE. Default: ${DEFAULT-VALUE}")
    String principalClaim = JwtSettings.SUBJECT;

    @Option(
            names = "--jwt-clock-skew",
            paramLabel = "TIME",
            defaultValue = "1m",
            converter = DurationOption.class,
            description = "How far the issuer's clock may differ: JWTs are accepted for so much longer. "
                    + "Default: ${DEFAULT-VALUE}")
    Duration clockSkew = Duration.ofMinutes(1);

    /** Whether clients can show a JWT. */
    boolean isOn() {
        return issuer != null;
    }

    void check(CommandSpec command, boolean hasPolicy) {
        boolean isWhole = issuer != null && audience != null && jwks != null;
        require(
                isWhole || (issuer == null && audience == null && jwks == null),
                command,
                "--jwt-issuer",
                "needs --jwt-audience and --jwt-jwks too, and they need it");
        require(
                issuer == null || hasPolicy,
                command,
                "--jwt-issuer",
                "needs --policy too: what no line of it allows is denied");
        require(isText(issuer), command, "--jwt-issuer", "is no issuer; use 1 to 512 printable characters");
        require(isText(audience), command, "--jwt-audience", "is no audience; use 1 to 512 printable characters");
        require(
                isText(principalClaim),
                command,
                "--jwt-principal-claim",
                "is no claim; use 1 to 512 printable characters");
        require(
                clockSkew.compareTo(CLOCK_SKEW_MAX) <= 0,
                command,
                "--jwt-clock-skew",
                "is " + DurationOption.text(clockSkew) + "; use 0s to 5m");
        if (jwks != null) {
            JwtSettings.mistake(jwks).ifPresent(mistake -> require(false, command, "--jwt-jwks", mistake));
        }
    }

    private static boolean isText(@Nullable String text) {
        return text == null
                || (!text.isBlank() && text.length() <= TEXT_MAX && text.chars().noneMatch(Character::isISOControl));
    }

    private static void require(boolean right, CommandSpec command, String option, String message) {
        if (!right) {
            throw new ParameterException(command.commandLine(), Settings.named(command, option) + " " + message);
        }
    }

    /** Null when no JWT is accepted. */
    @Nullable
    JwtAuthenticator load() throws FileMistakes {
        if (issuer == null || audience == null || jwks == null) {
            return null;
        }
        return JwtAuthenticator.open(
                new JwtSettings(issuer, audience, jwks, principalClaim, clockSkew),
                thread("palisade-jwks", 1),
                thread("palisade-jwts", JwtAuthenticator.PENDING_MAX),
                System::nanoTime,
                InstantSource.system());
    }

    /** One daemon thread, with a bounded queue. */
    private static Executor thread(String name, int waitingMax) {
        return new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(waitingMax), task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
    }
}
