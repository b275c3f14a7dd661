package dev.palisade.gateway;

import com.linecorp.armeria.common.HttpMethod;
import dev.palisade.guard.Access;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The routes of a config as a table for people: what is guarded by which lock. */
final class RouteListing {
    private static final List<String> HEAD = List.of("LINE", "HOST", "PATH", "READS", "WRITES", "LOCK");

    private RouteListing() {}

    static List<String> lines(RouteTable table) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(HEAD);
        table.routes().forEach(route -> rows.add(row(route)));
        int[] widths = new int[HEAD.size()];
        for (List<String> row : rows) {
            for (int i = 0; i < row.size(); i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        return rows.stream().map(row -> line(row, widths)).toList();
    }

    private static List<String> row(HttpRoute route) {
        return List.of(
                Integer.toString(route.line()),
                route.host().isEmpty() ? "any" : route.host(),
                route.path().toString(),
                methods(route, Optional.of(Access.READ)),
                methods(route, Optional.of(Access.WRITE)),
                route.lock() == null
                        ? "NOT GUARDED: " + methods(route, Optional.empty())
                        : String.valueOf(route.lock()));
    }

    private static String methods(HttpRoute route, Optional<Access> access) {
        String methods = route.methods().stream()
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
