package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.RequestHeaders;
import dev.palisade.contract.RejectedException;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The routes of a gateway in the order of the file: the first that matches a request decides. Immutable. */
final class RouteTable {
    private final List<HttpRoute> routes;

    RouteTable(List<HttpRoute> routes) {
        this.routes = List.copyOf(routes);
    }

    List<HttpRoute> routes() {
        return routes;
    }

    /** Those whose lock a field of a gRPC message names. */
    List<HttpRoute> readingMessages() {
        return routes.stream().filter(route -> !route.messageFields().isEmpty()).toList();
    }

    /** Whether {@code route} decides about some request with that method and target: no earlier one takes them all. */
    boolean mayServe(HttpRoute route, HttpMethod method, RequestPath target) {
        for (HttpRoute each : routes) {
            boolean isForAll = each.host().isEmpty() || each.host().equals(route.host());
            if (isForAll
                    && each.methods().contains(method)
                    && each.path().match(target.segments()).isPresent()) {
                return each.equals(route);
            }
        }
        return false;
    }

    /**
     * How one request is guarded.
     *
     * @param naming names the lock; null when the request is not guarded
     * @param variables values of the route's path
     * @param access what the request does with the resource
     */
    record Guarding(@Nullable LockNaming naming, Map<String, String> variables, Access access) {
        static final Guarding NONE = new Guarding(null, Map.of(), Access.READ);

        /** Whether the lock is known only when the message is. */
        boolean readsMessage() {
            return naming != null && !naming.messageFields().isEmpty();
        }

        /**
         * The lock and its resource; null when the request is not guarded.
         *
         * @param message the value of a field of the message by its path
         * @throws RejectedException MALFORMED_REQUEST when the lock cannot be named
         */
        @Nullable
        Binding binding(RequestHeaders headers, RequestPath target, Function<String, String> message) {
            return naming == null ? null : Binding.of(naming.lockOf(variables, headers, target, message));
        }
    }

    /** Empty when no route matches. */
    Optional<Guarding> find(RequestHeaders headers, RequestPath target) {
        String host = host(headers);
        for (HttpRoute route : routes) {
            Optional<Map<String, String>> variables =
                    route.isFor(host, headers.method()) ? route.path().match(target.segments()) : Optional.empty();
            if (variables.isPresent()) {
                return Optional.of(route.access(headers.method())
                        .map(access -> new Guarding(route.lock(), variables.get(), access))
                        .orElse(Guarding.NONE));
            }
        }
        return GrpcCall.isOne(headers) && GrpcCall.isUnguarded(target) ? Optional.of(Guarding.NONE) : Optional.empty();
    }

    /** The host that the request names, in small letters and without a port. */
    private static String host(RequestHeaders headers) {
        String authority = headers.authority();
        if (authority == null) {
            return "";
        }
        int colon = authority.lastIndexOf(':');
        boolean port = colon > authority.lastIndexOf(']');
        String host = (port ? authority.substring(0, colon) : authority).toLowerCase(Locale.ROOT);
        // The same host, written as the root of its domain sees it.
        return host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
    }
}
