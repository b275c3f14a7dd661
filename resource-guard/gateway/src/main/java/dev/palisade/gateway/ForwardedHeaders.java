package dev.palisade.gateway;

import com.linecorp.armeria.common.RequestHeaders;
import com.linecorp.armeria.common.RequestHeadersBuilder;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.SequencerHeader;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The headers of a request: what the gateway reads from them, and what the service behind it gets. */
final class ForwardedHeaders {
    /** Carries the sequencer, as base64url text. */
    static final String SEQUENCER = "fencing-sequencer";

    /** Of one connection only (RFC 9110, 7.6.1); the HTTP library removes what a Connection header names, too. */
    private static final Set<String> HOP_BY_HOP = Set.of(
            "connection",
            "keep-alive",
            "proxy-connection",
            "proxy-authorization",
            "transfer-encoding",
            "upgrade",
            "http2-settings",
            "expect",
            Http1Check.WAITS);

    /**
     * Say who sent the request and by which name, as those do that begin with x-forwarded-; set by the gateway, or not
     * at all: a client could write anything into them.
     */
    private static final Set<String> OF_PROXIES = Set.of("forwarded", "x-real-ip");

    /** Some services take method or path from these, so that a read would be a write, or of another path. */
    private static final Set<String> OVERRIDES = Set.of(
            "x-http-method-override",
            "x-http-method",
            "x-method-override",
            "x-original-url",
            "x-rewrite-url",
            // Variables of CGI, which some servers take from headers of a proxy on their own machine.
            "script-name",
            "path-info");

    private static final List<String> PSEUDO = List.of(":method", ":scheme", ":authority", ":path");

    private ForwardedHeaders() {}

    /** @throws RejectedException MALFORMED_REQUEST */
    static void refuseOverrides(RequestHeaders headers) {
        for (Map.Entry<AsciiString, String> header : headers) {
            AsciiString name = header.getKey();
            if (OVERRIDES.contains(asServicesRead(name))) {
                throw RejectedException.malformed("header '" + name
                        + "' would change the request behind the gateway; send the method and the path themselves");
            }
        }
    }

    /**
     * The name by which a service may know a header. CGI and its successors (WSGI, PHP) read hyphens and underscores
     * alike, so {@code X_Item} is {@code X-Item} to them.
     */
    static String asServicesRead(CharSequence name) {
        String read = name.toString();
        return read.indexOf('_') < 0 ? read : read.replace('_', '-');
    }

    /**
     * Of a request of HTTP/2. The HTTP library takes the first of two pseudo-headers and forwards both: a service that
     * takes the last would see a write where the gateway saw a read.
     *
     * @throws RejectedException MALFORMED_REQUEST, when a header says two things, or names no host
     */
    static void refuseContradictions(RequestHeaders headers) {
        for (String name : PSEUDO) {
            if (headers.getAll(name).size() > 1) {
                throw RejectedException.malformed("the request has several " + name + " headers; send one");
            }
        }
        String scheme = headers.get(":scheme", "http");
        if (!scheme.equals("http") && !scheme.equals("https")) {
            throw RejectedException.malformed("the request's :scheme is neither http nor https; send one of them");
        }
        if (!Http1Check.isHost(headers.get(":authority", "none"))) {
            throw RejectedException.malformed("the request's :authority names no host; send one name or address");
        }
        List<String> hosts = headers.getAll("host");
        if (hosts.size() > 1
                || (hosts.size() == 1 && !hosts.get(0).equalsIgnoreCase(headers.get(":authority", hosts.get(0))))) {
            throw RejectedException.malformed("the request names two hosts; send the one of its :authority only");
        }
    }

    /** @throws RejectedException SEQUENCER_MISSING, or SEQUENCER_INVALID when there are several or it cannot be one */
    static SignedSequencer sequencer(RequestHeaders headers) {
        List<String> values = headers.getAll(SEQUENCER);
        if (values.isEmpty()) {
            throw new Rejection(
                            Reason.SEQUENCER_MISSING,
                            "the request has no Fencing-Sequencer header; take the lock and send its sequencer")
                    .asException();
        }
        if (values.size() > 1) {
            throw new Rejection(
                            Reason.SEQUENCER_INVALID,
                            "the request has several Fencing-Sequencer headers; send only the one of its lease")
                    .asException();
        }
        return SignedSequencer.ofText(values.get(0));
    }

    private static boolean isOfThisHop(String read) {
        return HOP_BY_HOP.contains(read) || OF_PROXIES.contains(read) || read.startsWith("x-forwarded-");
    }

    /** @param target the form of path and query to forward */
    static RequestHeaders of(RequestHeaders headers, String target, InetSocketAddress client, boolean passSequencer) {
        RequestHeadersBuilder forwarded = headers.toBuilder();
        forwarded.path(target);
        for (Map.Entry<AsciiString, String> header : headers) {
            AsciiString name = header.getKey();
            String read = asServicesRead(name);
            boolean isSequencer = read.equals(SEQUENCER) || read.equals(SequencerHeader.KEY.name());
            // One that was not verified is never passed on.
            boolean isVerified = name.contentEquals(read);
            if (isOfThisHop(read) || (isSequencer && !(passSequencer && isVerified))) {
                forwarded.remove(name);
            }
        }
        forwarded.set("x-forwarded-for", client.getAddress().getHostAddress());
        forwarded.set("x-forwarded-proto", "http");
        String authority = headers.authority();
        if (authority != null) {
            forwarded.set("x-forwarded-host", authority);
        }
        return forwarded.build();
    }
}
