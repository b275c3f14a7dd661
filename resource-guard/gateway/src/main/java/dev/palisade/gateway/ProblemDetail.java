package dev.palisade.gateway;

import com.google.gson.JsonObject;
import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;

/**
 * Refusal as a problem detail (RFC 9457): {@code application/problem+json} with the reason, {@code applied}, and all
 * metadata of the rejection, such as both tokens. The statuses are those of the guide for REST.
 */
final class ProblemDetail {
    private static final MediaType TYPE = MediaType.create("application", "problem+json");
    private static final long RETRY_MILLIS_DEFAULT = 1_000;

    private ProblemDetail() {}

    static HttpStatus status(Reason reason) {
        return switch (reason) {
            case MALFORMED_REQUEST -> HttpStatus.BAD_REQUEST;
            case SEQUENCER_INVALID, WRONG_RESOURCE, MODE_NOT_ALLOWED -> HttpStatus.FORBIDDEN;
            case TOKEN_STALE, LEASE_EXPIRED -> HttpStatus.CONFLICT;
            case SEQUENCER_MISSING -> HttpStatus.PRECONDITION_REQUIRED;
            case DRAINING, MARK_UNAVAILABLE, STORE_UNAVAILABLE, LIMIT_EXCEEDED -> HttpStatus.SERVICE_UNAVAILABLE;
            case OUTCOME_UNKNOWN -> HttpStatus.BAD_GATEWAY;
            // Reasons of a lock server, which a guard does not give.
            default -> HttpStatus.INTERNAL_SERVER_ERROR;
        };
    }

    static AggregatedHttpResponse of(Rejection rejection) {
        return of(status(rejection.reason()), rejection);
    }

    static AggregatedHttpResponse of(HttpStatus status, Rejection rejection) {
        JsonObject problem = new JsonObject();
        problem.addProperty("type", "about:blank");
        problem.addProperty("title", status.reasonPhrase());
        problem.addProperty("status", status.code());
        problem.addProperty("detail", rejection.message());
        problem.addProperty("reason", rejection.reason().name());
        problem.addProperty(Rejection.APPLIED, rejection.reason() == Reason.OUTCOME_UNKNOWN ? "unknown" : "no");
        rejection.metadata().forEach(problem::addProperty);
        return AggregatedHttpResponse.of(headers(status, rejection, TYPE), HttpData.ofUtf8(problem.toString()));
    }

    /** Those of a refusal in any format. */
    static ResponseHeaders headers(HttpStatus status, Rejection rejection, MediaType type) {
        ResponseHeadersBuilder headers = ResponseHeaders.builder(status).contentType(type);
        if (status.equals(HttpStatus.SERVICE_UNAVAILABLE)) {
            headers.setLong(HttpHeaderNames.RETRY_AFTER, retryAfterSeconds(rejection));
        }
        return headers.build();
    }

    private static long retryAfterSeconds(Rejection rejection) {
        String millis = rejection.metadata().get(Rejection.RETRY_AFTER_MILLIS);
        long wait = millis == null ? RETRY_MILLIS_DEFAULT : Long.parseLong(millis);
        return Math.max(1, (wait + 999) / 1_000);
    }
}
