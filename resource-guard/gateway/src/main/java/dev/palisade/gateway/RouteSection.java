package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpMethod;
import dev.palisade.gateway.HttpRoute.Rule;
import dev.palisade.gateway.YamlSection.Item;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/** Reader of the routes of a gateway's config file. */
final class RouteSection {
    static final Set<String> KEYS = Set.of("host", "path", "methods", "access", "lock");

    private final Mistakes mistakes;

    RouteSection(Mistakes mistakes) {
        this.mistakes = mistakes;
    }

    List<HttpRoute> routes(YamlSection file) {
        if (!file.has("routes")) {
            mistakes.add(file.at("routes"), "routes is missing; without one every request would be refused");
        }
        List<HttpRoute> routes = new ArrayList<>();
        for (Node node : file.list("routes")) {
            HttpRoute route = route(node);
            if (route == null) {
                continue;
            }
            routes.stream()
                    .filter(earlier -> earlier.covers(route))
                    .findFirst()
                    .ifPresent(earlier -> mistakes.add(
                            route.line(),
                            "this route is never reached: the one of line " + earlier.line()
                                    + " takes all of its requests; move it before that one, or remove it"));
            routes.stream()
                    .filter(earlier -> earlier.contradicts(route, routes))
                    .findFirst()
                    .ifPresent(earlier -> mistakes.add(
                            route.line(),
                            "this route guards a path by another lock than the one of line " + earlier.line()
                                    + "; tokens of two locks have no order: name the same lock in both"));
            routes.add(route);
        }
        return routes;
    }

    private @Nullable HttpRoute route(Node node) {
        YamlSection section = new YamlSection(mistakes, node, KEYS);
        String text = section.required("path", "/items/{id}");
        PathTemplate path =
                text.isEmpty() ? null : mistakes.catching(section.at("path"), () -> PathTemplate.parse(text));
        Set<HttpMethod> methods = methods(section);
        Rule rule = rule(section);
        LockNaming lock = null;
        if (rule == Rule.UNGUARDED) {
            if (section.has("lock")) {
                mistakes.add(section.at("lock"), "an unguarded route has no lock; leave lock out, or access");
            }
        } else {
            String name = section.required("lock", "items/{id}");
            if (path != null && !name.isEmpty()) {
                lock = lock(section, name, path);
            }
        }
        String host = section.text("host", "").toLowerCase(Locale.ROOT);
        if (host.indexOf('/') >= 0 || host.indexOf(':') >= 0 || host.indexOf('*') >= 0) {
            mistakes.add(section.at("host"), "host is '" + host + "'; write a name without scheme, port or asterisk");
        }
        if (path == null || methods.isEmpty() || (lock == null && rule != Rule.UNGUARDED)) {
            return null;
        }
        return new HttpRoute(Mistakes.line(node), host, path, methods, rule, lock);
    }

    private @Nullable LockNaming lock(YamlSection section, String name, PathTemplate path) {
        return mistakes.catching(section.at("lock"), () -> LockNaming.parse(name, path));
    }

    private Set<HttpMethod> methods(YamlSection section) {
        if (!section.has("methods")) {
            return HttpRoute.METHODS_DEFAULT;
        }
        Set<HttpMethod> methods = EnumSet.noneOf(HttpMethod.class);
        for (Item item : section.items("methods")) {
            HttpMethod method = HttpMethod.tryParse(item.text());
            if (method == null || method == HttpMethod.CONNECT || method == HttpMethod.UNKNOWN) {
                mistakes.add(
                        item.where(),
                        "'" + item.text() + "' is no method a route can have; use GET, HEAD, POST, PUT, PATCH, DELETE,"
                                + " OPTIONS or TRACE");
            } else {
                methods.add(method);
            }
        }
        return methods;
    }

    private Rule rule(YamlSection section) {
        String access = section.text("access", "");
        return switch (access) {
            case "" -> Rule.BY_METHOD;
            case "read" -> Rule.READ;
            case "write" -> Rule.WRITE;
            case "unguarded" -> Rule.UNGUARDED;
            default -> {
                mistakes.add(
                        section.at("access"),
                        "access is '" + access + "'; use read, write or unguarded, or leave it out: then GET and HEAD"
                                + " read, and every other method writes");
                yield Rule.BY_METHOD;
            }
        };
    }
}
