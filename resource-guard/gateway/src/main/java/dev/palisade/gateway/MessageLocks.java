package dev.palisade.gateway;

import com.google.protobuf.Descriptors.MethodDescriptor;
import com.linecorp.armeria.common.HttpMethod;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.cli.Suggestion;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The fields of gRPC messages that name locks, for each method that a route with such a lock may get. All of them are
 * found before the first request. Immutable.
 */
final class MessageLocks {
    /** No route names its lock by a message. */
    static final MessageLocks NONE = new MessageLocks(Map.of());

    /** From the path of a method to its fields by their own paths. */
    private final Map<String, Map<String, MessageField>> fields;

    private MessageLocks(Map<String, Map<String, MessageField>> fields) {
        this.fields = Map.copyOf(fields);
    }

    /** Notes a mistake for each route without a method, and for each method whose message cannot name the lock. */
    static MessageLocks of(RouteTable routes, GrpcMethods methods, Mistakes mistakes) {
        Map<String, Map<String, MessageField>> fields = new HashMap<>();
        for (HttpRoute route : routes.readingMessages()) {
            List<Map.Entry<String, MethodDescriptor>> its = methods.byPath().entrySet().stream()
                    .filter(each -> routes.mayServe(route, HttpMethod.POST, RequestPath.of(each.getKey())))
                    .toList();
            if (its.isEmpty()) {
                mistakes.add(route.line(), noMethod(route.path().toString(), methods));
            }
            its.forEach(each -> add(
                    fields.computeIfAbsent(each.getKey(), none -> new HashMap<>()), route, each.getValue(), mistakes));
        }
        return new MessageLocks(fields);
    }

    private static String noMethod(String path, GrpcMethods methods) {
        return "no method of the descriptors has the path '" + path + "'"
                + Suggestion.of(path, methods.byPath().keySet())
                        .map(near -> "; did you mean " + near + "?")
                        .orElse("; write /package.Service/Method, and name the service's own descriptors");
    }

    private static void add(
            Map<String, MessageField> fields, HttpRoute route, MethodDescriptor method, Mistakes mistakes) {
        String of = "lock '" + route.lock() + "', method " + method.getFullName() + ": ";
        if (method.isClientStreaming()) {
            mistakes.add(
                    route.line(),
                    of + "it takes a stream of messages, which may name several locks; take the name from a header, in"
                            + " a route of its own before this one");
            return;
        }
        for (String field : route.messageFields()) {
            try {
                fields.put(field, MessageField.of(method.getInputType(), field));
            } catch (IllegalArgumentException e) {
                mistakes.add(route.line(), of + e.getMessage());
            }
        }
    }

    /**
     * The fields of a method.
     *
     * @throws RejectedException MALFORMED_REQUEST, when no descriptor is known for it
     */
    Map<String, MessageField> of(RequestPath target) {
        String path = "/" + String.join("/", target.segments());
        Map<String, MessageField> found = fields.get(path);
        if (found == null) {
            throw RejectedException.malformed("the gateway has no descriptor of method " + path
                    + ", whose message names the lock; nothing was forwarded: restart it with the service's newest"
                    + " descriptors");
        }
        return found;
    }
}
