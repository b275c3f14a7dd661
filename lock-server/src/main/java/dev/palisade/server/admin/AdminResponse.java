package dev.palisade.server.admin;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * HTTP response of the admin page or its API.
 *
 * @param headers without Content-Type and Content-Length, names in lower case
 */
public record AdminResponse(int status, String contentType, String body, Map<String, String> headers) {
    /**
     * Of every response. Scripts and styles come from this server only, no page of another origin may frame, embed or read it, and
     * no script may turn text into elements.
     */
    public static final Map<String, String> SECURITY_HEADERS = Map.of(
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
                    + " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
                    + " require-trusted-types-for 'script'; trusted-types 'none'",
            "x-content-type-options",
            "nosniff",
            "x-frame-options",
            "DENY",
            "referrer-policy",
            "no-referrer",
            "cross-origin-opener-policy",
            "same-origin",
            "cross-origin-resource-policy",
            "same-origin",
            "permissions-policy",
            "camera=(), geolocation=(), microphone=()");

    private static final String JSON = "application/json";

    public AdminResponse {
        headers = Map.copyOf(headers);
    }

    static AdminResponse json(String body) {
        return new AdminResponse(200, JSON, body, Map.of());
    }

    AdminResponse with(String header, String value) {
        Map<String, String> all = new LinkedHashMap<>(headers);
        all.put(header, value);
        return new AdminResponse(status, contentType, body, all);
    }
}
