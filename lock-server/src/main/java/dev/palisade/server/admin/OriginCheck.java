package dev.palisade.server.admin;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Check against requests that a page of another origin makes a browser send: cross-site request forgery and DNS rebinding. It
 * reads headers that such a page cannot choose.
 */
final class OriginCheck {
    /** An address, or a name that no DNS server resolves: only these can be no name of another site. */
    private static final Pattern UNRESOLVED =
            Pattern.compile("(\\d{1,3}(\\.\\d{1,3}){3}|\\[[0-9a-f:.]+]|localhost|[a-z0-9.-]+\\.localhost)(:\\d{1,5})?");

    private OriginCheck() {}

    /** Why the page or the API does not answer the request; empty if it does. */
    static Optional<AdminResponse> host(AdminRequest request) {
        List<String> hosts = request.header("host");
        if (hosts.size() != 1 || hosts.get(0).isEmpty()) {
            return Optional.of(AdminProblem.malformed(400, "the request needs one Host header"));
        }
        // Under TLS the certificate binds the name.
        return request.session() != null
                        || UNRESOLVED
                                .matcher(hosts.get(0).toLowerCase(Locale.ROOT))
                                .matches()
                ? Optional.empty()
                : Optional.of(AdminProblem.malformed(
                        421,
                        "without TLS the page, its API and metrics are served under an address or localhost only, because"
                                + " another site can make its own name lead here; use such an address, or --tls-cert"));
    }

    /** Why the API does not answer; empty if it does. */
    static Optional<AdminResponse> origin(AdminRequest request) {
        String own = (request.session() == null ? "http://" : "https://")
                + request.header("host").get(0);
        boolean isOther = request.header("origin").stream().anyMatch(origin -> !origin.equalsIgnoreCase(own))
                || request.header("sec-fetch-site").stream()
                        .anyMatch(site -> !site.equals("same-origin") && !site.equals("none"));
        return isOther
                ? Optional.of(AdminProblem.malformed(403, "the request comes from a page of another origin"))
                : Optional.empty();
    }

    /** Why a request that changes something is refused: no HTML form can send this type. */
    static Optional<AdminResponse> json(AdminRequest request) {
        List<String> types = request.header("content-type");
        boolean isJson =
                types.size() == 1 && types.get(0).split(";", 2)[0].strip().equalsIgnoreCase("application/json");
        return isJson
                ? Optional.empty()
                : Optional.of(AdminProblem.malformed(415, "send a JSON body, with Content-Type: application/json"));
    }
}
