package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpMethod;
import dev.palisade.guard.Access;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The routes of a config as a table for people: what is guarded by which lock. */
final class RouteListing {
    private static final List<String> HEAD = List.of("LINE", "HOST", "PATH", "READS", "WRITES", "LOCK");

    /** {@code /package.Service/Method}; its calls are POST, whatever else the route would take. */
    private static final Pattern GRPC_PATH = Pattern.compile("/[^/{}]*\\.[^/{}]+/[^/]+");

    private RouteListing() {}

    /** @param grpc whether the service speaks HTTP/2, so that it may be one of gRPC */
    static List<String> lines(RouteTable table, boolean grpc) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(HEAD);
        table.routes().forEach(route -> rows.add(row(route, grpc)));
        int[] widths = new int[HEAD.size()];
        for (List<String> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static List<String> row(HttpRoute route, boolean grpc) {
        boolean isGrpc = grpc && GRPC_PATH.matcher(route.path().toString()).matches();
        return List.of(
                Integer.toString(route.line()),
                route.host().isEmpty() ? "any" : route.host(),
                route.path().toString(),
                methods(route, isGrpc, Optional.of(Access.READ)),
                methods(route, isGrpc, Optional.of(Access.WRITE)),
                route.lock() == null
                        ? "NOT GUARDED: " + methods(route, isGrpc, Optional.empty())
                        : String.valueOf(route.lock()));
    }

    private static String methods(HttpRoute route, boolean isGrpc, Optional<Access> access) {
        String methods = route.methods().stream()
                .filter(method -> !isGrpc || method == HttpMethod.POST)
                .filter(method -> route.access(method).equals(access))
                .map(HttpMethod::name)
                .collect(Collectors.joining(","));
        return methods.isEmpty() ? "-" : methods;
    }

    private static String line(List<String> row, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < row.size(); i++) {
            line.append(row.get(i)).append(" ".repeat(widths[i] - row.get(i).length() + 2));
        }
        return line.toString().stripTrailing();
    }
}
