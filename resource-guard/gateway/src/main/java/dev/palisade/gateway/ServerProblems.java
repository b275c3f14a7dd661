package dev.palisade.gateway;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.server.ServerErrorHandler;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import org.jspecify.annotations.Nullable;

/**
 * Error responses of the HTTP server itself, as problem details: to requests that never reach a route, such as
 * CONNECT, an upgrade to WebSocket and broken framing.
 */
final class ServerProblems implements ServerErrorHandler {
    /** The HTTP library's words for everything that it cannot read. */
    private static final String NOT_DECODED = "Decoder failure";

    /** Its words for a target that it does not take, be it for dots in the query. */
    private static final String NO_TARGET = "Invalid request path";

    @Override
    public @Nullable HttpResponse onServiceException(ServiceRequestContext ctx, Throwable cause) {
        return null; // The default asks renderStatus.
    }

    @Override
    public @Nullable AggregatedHttpResponse renderStatus(
            @Nullable ServiceRequestContext ctx,
            ServiceConfig config,
            @Nullable RequestHeaders headers,
            HttpStatus status,
            @Nullable String description,
            @Nullable Throwable cause) {
        if (!status.isError()) {
            return null;
        }
        if (ctx != null) {
            return ProblemDetail.of(
                    status,
                    new Rejection(
                            Reason.OUTCOME_UNKNOWN,
                            "the gateway failed; whether the request was applied is not known: read again before you"
                                    + " write again"));
        }
        if (headers != null && !isNeverForwarded(headers, status)) {
            return ProblemDetail.of(
                    status,
                    new Rejection(
                            Reason.OUTCOME_UNKNOWN,
                            "the request broke off in mid-body, after its head may have been forwarded; whether it was"
                                    + " applied is not known: read again before you write again"));
        }
        String what = description == null ? status.reasonPhrase() : words(description);
        return ProblemDetail.of(
                status,
                new Rejection(
                        Reason.MALFORMED_REQUEST,
                        what + "; nothing was forwarded: the gateway takes plain HTTP/1.1 and HTTP/2 requests, without"
                                + " CONNECT and without an upgrade"));
    }

    private static String words(String description) {
        return switch (description) {
            case NOT_DECODED ->
                "the request's first line, a header or the framing of its body is no HTTP/1.1, or too long";
            case NO_TARGET ->
                "the request's path or query has a segment '..', percent-encoded or not, or is no path; send it without";
            default -> description;
        };
    }

    /** The HTTP library refuses a method that it does not know, and an expectation but 100-continue, at the head. */
    private static boolean isNeverForwarded(RequestHeaders headers, HttpStatus status) {
        return status.equals(HttpStatus.METHOD_NOT_ALLOWED)
                || status.equals(HttpStatus.EXPECTATION_FAILED)
                || headers.method() == HttpMethod.CONNECT
                || headers.contains(HttpHeaderNames.UPGRADE);
    }
}
