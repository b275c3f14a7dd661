package dev.palisade.opentelemetry;

import dev.palisade.contract.Rejection;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import org.jspecify.annotations.Nullable;

/** The attributes of Palisade's spans. */
final class SpanAttributes {
    static final AttributeKey<String> LOCK = AttributeKey.stringKey("palisade.lock");
    static final AttributeKey<String> RESOURCE = AttributeKey.stringKey("palisade.resource");
    static final AttributeKey<String> MODE = AttributeKey.stringKey("palisade.mode");
    static final AttributeKey<Long> TOKEN = AttributeKey.longKey("palisade.token");
    static final AttributeKey<Long> MARK = AttributeKey.longKey("palisade.mark");
    static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("palisade.outcome");
    static final AttributeKey<String> REASON = AttributeKey.stringKey("palisade.reason");

    private SpanAttributes() {}

    /** Marks {@code span} as failed, with the reason and the tokens that the refusal names. */
    static void refused(Span span, Rejection why) {
        span.setAttribute(OUTCOME, "refused");
        span.setAttribute(REASON, why.reason().name());
        token(span, TOKEN, why.metadata().get(Rejection.PRESENTED_TOKEN));
        token(span, MARK, why.metadata().get(Rejection.MARK_TOKEN));
        span.setStatus(StatusCode.ERROR, why.message());
    }

    private static void token(Span span, AttributeKey<Long> key, @Nullable String token) {
        try {
            if (token != null) {
                span.setAttribute(key, Long.valueOf(token));
            }
        } catch (NumberFormatException e) {
            // Of a service that writes its metadata in another way; the message has it.
        }
    }
}
