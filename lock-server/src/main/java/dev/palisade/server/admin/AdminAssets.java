package dev.palisade.server.admin;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** Static files of the page, from the class path: a closed list, read at first use. They hold nothing about locks. Thread-safe. */
final class AdminAssets {
    private static final String SCRIPT = "text/javascript; charset=utf-8";

    /** Types by path. */
    private static final Map<String, String> TYPES = Map.ofEntries(
            Map.entry("/", "text/html; charset=utf-8"),
            Map.entry("/page/page.css", "text/css; charset=utf-8"),
            Map.entry("/page/icon.svg", "image/svg+xml"),
            Map.entry("/page/main.js", SCRIPT),
            Map.entry("/page/api.js", SCRIPT),
            Map.entry("/page/dom.js", SCRIPT),
            Map.entry("/page/format.js", SCRIPT),
            Map.entry("/page/locks.js", SCRIPT),
            Map.entry("/page/lock.js", SCRIPT),
            Map.entry("/page/explain.js", SCRIPT),
            Map.entry("/page/release.js", SCRIPT),
            Map.entry("/page/timeline.js", SCRIPT),
            Map.entry("/page/server.js", SCRIPT),
            Map.entry(AdminApi.ROOT + "openapi.yaml", "application/yaml; charset=utf-8"));

    private final Map<String, AdminResponse> read = new ConcurrentHashMap<>();

    boolean has(String path) {
        return TYPES.containsKey(path);
    }

    /** @param path one that {@link #has} knows */
    AdminResponse get(String path) {
        return read.computeIfAbsent(
                path, each -> new AdminResponse(200, Objects.requireNonNull(TYPES.get(each)), content(each), Map.of()));
    }

    private static String content(String path) {
        String name = path.equals("/") ? "index.html" : path.substring(path.lastIndexOf('/') + 1);
        try (InputStream in = AdminAssets.class.getResourceAsStream("page/" + name)) {
            return new String(Objects.requireNonNull(in, name).readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
