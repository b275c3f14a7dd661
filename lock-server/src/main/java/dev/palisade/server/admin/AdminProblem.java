package dev.palisade.server.admin;

import com.google.gson.JsonObject;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import java.util.Map;

/**
 * Refusal of the API as a problem detail (RFC 9457): {@code application/problem+json} with the reason and all metadata of the
 * rejection. Statuses are those of the gateway, where it has the reason.
 */
public final class AdminProblem {
    private static final String TYPE = "application/problem+json";
    private static final long RETRY_MILLIS_DEFAULT = 1_000;
    private static final Map<Integer, String> TITLES = Map.of(
            400, "Bad Request",
            401, "Unauthorized",
            403, "Forbidden",
            404, "Not Found",
            405, "Method Not Allowed",
            409, "Conflict",
            413, "Content Too Large",
            415, "Unsupported Media Type",
            421, "Misdirected Request",
            503, "Service Unavailable");

    private AdminProblem() {}

    private static int status(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST -> 400;
            case UNAUTHENTICATED -> 401;
            case PERMISSION_DENIED -> 403;
            case SESSION_UNKNOWN, NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED, TOKEN_STALE -> 409;
            case QUEUE_FULL,
                    LIMIT_EXCEEDED,
                    TOKENS_EXHAUSTED,
                    DRAINING,
                    MARK_UNAVAILABLE,
                    RECOVERING,
                    SUSPECT_PRIMARY,
                    STORE_UNAVAILABLE,
                    NOT_ACTIVE -> 503;
            case OUTCOME_UNKNOWN -> 502;
            // Reasons of a guard, which a lock server does not give.
            case SEQUENCER_MISSING, SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED -> 500;
        };
    }

    static AdminResponse of(Rejection rejection) {
        return of(status(rejection.reason()), rejection);
    }

    /** For what the API itself refuses: the request was never one of the lock service. */
    static AdminResponse malformed(int status, String message) {
        return of(status, new Rejection(Reason.MALFORMED_REQUEST, message));
    }

    /** At a limit of the admin port. */
    public static AdminResponse limit(int status, String limit, String message) {
        return of(status, new Rejection(Reason.LIMIT_EXCEEDED, message, Map.of(Rejection.LIMIT, limit)));
    }

    private static AdminResponse of(int status, Rejection rejection) {
        JsonObject problem = new JsonObject();
        rejection.metadata().forEach(problem::addProperty);
        problem.addProperty("type", "about:blank");
        problem.addProperty("title", TITLES.getOrDefault(status, "Bad Gateway"));
        problem.addProperty("status", status);
        problem.addProperty("detail", rejection.message());
        problem.addProperty("reason", rejection.reason().name());
        problem.addProperty(Rejection.APPLIED, rejection.reason() == Reason.OUTCOME_UNKNOWN ? "unknown" : "no");
        AdminResponse response = new AdminResponse(status, TYPE, problem.toString(), Map.of());
        if (status == 401) {
            return response.with("www-authenticate", "Bearer");
        }
        return status == 503 ? response.with("retry-after", retryAfterSeconds(rejection)) : response;
    }

    private static String retryAfterSeconds(Rejection rejection) {
        String millis = rejection.metadata().get(Rejection.RETRY_AFTER_MILLIS);
        long wait = millis == null ? RETRY_MILLIS_DEFAULT : Long.parseLong(millis);
        return Long.toString(Math.max(1, (wait + 999) / 1_000));
    }
}
