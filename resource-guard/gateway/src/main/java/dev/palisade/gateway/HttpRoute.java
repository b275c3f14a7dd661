package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpMethod;
import dev.palisade.guard.Access;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One entry of the config file: which requests it is for, and how they are guarded.
 *
 * @param line of the file, counted from 1
 * @param host in small letters, without a port; empty for any
 * @param rule how requests are guarded
 * @param lock names the lock; null only for {@link Rule#UNGUARDED}
 */
record HttpRoute(
        int line,
        String host,
        PathTemplate path,
        Set<HttpMethod> methods,
        Rule rule,
        @Nullable LockNaming lock) {
    /** Methods of a route that names none. */
    static final Set<HttpMethod> METHODS_DEFAULT = Set.of(
            HttpMethod.GET, HttpMethod.HEAD, HttpMethod.POST, HttpMethod.PUT, HttpMethod.PATCH, HttpMethod.DELETE);

    /** What the requests of a route do with the data. */
    enum Rule {
        /** GET and HEAD read, every other method writes. */
        BY_METHOD,
        READ,
        WRITE,
        /** Forwarded without a sequencer and without a check. */
        UNGUARDED
    }

    HttpRoute {
        methods = EnumSet.copyOf(methods);
    }

    /** Empty when requests of that method are not guarded. */
    Optional<Access> access(HttpMethod method) {
        return switch (rule) {
            case UNGUARDED -> Optional.empty();
            case READ -> Optional.of(Access.READ);
            case WRITE -> Optional.of(Access.WRITE);
            case BY_METHOD ->
                Optional.of(method == HttpMethod.GET || method == HttpMethod.HEAD ? Access.READ : Access.WRITE);
        };
    }

    /** Fields of the request's message that name the lock, by their paths. */
    List<String> messageFields() {
        return lock == null ? List.of() : lock.messageFields();
    }

    boolean isFor(String authorityHost, HttpMethod method) {
        return (host.isEmpty() || host.equals(authorityHost)) && methods.contains(method);
    }

    /** Whether every request of {@code later} is one of this route, so that {@code later} is never reached. */
    boolean covers(HttpRoute later) {
        return (host.isEmpty() || host.equals(later.host))
                && methods.containsAll(later.methods)
                && path.covers(later.path);
    }

    /**
     * Whether some path is guarded by a lock of this route and, for a method of {@code later}, by one of another name.
     *
     * @param earlier all routes before {@code later}, this one among them
     */
    boolean contradicts(HttpRoute later, List<HttpRoute> earlier) {
        if (lock == null
                || later.lock == null
                || !(host.isEmpty() || later.host.isEmpty() || host.equals(later.host))) {
            return false;
        }
        Optional<PathTemplate> both = path.overlap(later.path);
        if (both.isEmpty() || lock.on(both.get(), path).equals(later.lock.on(both.get(), later.path))) {
            return false;
        }
        if (path.covers(later.path) && later.path.covers(path)) {
            return true;
        }
        Set<HttpMethod> left = EnumSet.copyOf(later.methods);
        earlier.stream()
                .filter(route ->
                        (route.host.isEmpty() || route.host.equals(later.host)) && route.path.covers(both.get()))
                .forEach(route -> left.removeAll(route.methods));
        return !left.isEmpty();
    }
}
