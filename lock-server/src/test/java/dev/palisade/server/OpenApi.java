package dev.palisade.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** The file that describes the admin API. */
record OpenApi(ObjectNode document, Map<String, JsonSchema> schemas) {
    private static final OpenApi LOADED = read();

    static OpenApi load() {
        return LOADED;
    }

    private static OpenApi read() {
        try (InputStream in = OpenApi.class.getResourceAsStream("admin/page/openapi.yaml")) {
            ObjectNode document = (ObjectNode) new YAMLMapper().readTree(Objects.requireNonNull(in));
            return new OpenApi(document, new ConcurrentHashMap<>());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Such as {@code GET /locks}. */
    Set<String> operations() {
        Set<String> operations = new TreeSet<>();
        document.get("paths")
                .properties()
                .forEach(path -> path.getValue().fieldNames().forEachRemaining(method -> {
                    if (!method.equals("parameters")) {
                        operations.add(method.toUpperCase(Locale.ROOT) + " " + path.getKey());
                    }
                }));
        return operations;
    }

    /** What contradicts the file in a reply of an operation, such as {@code GET /locks}. */
    Set<String> mistakes(String operation, AdminServed.Reply reply) throws IOException {
        String[] parts = operation.split(" ", 2);
        JsonNode responses = document.get("paths")
                .get(parts[1])
                .get(parts[0].toLowerCase(Locale.ROOT))
                .get("responses");
        String schema = responses.has(String.valueOf(reply.status()))
                ? responses
                        .get(String.valueOf(reply.status()))
                        .at("/content/application~1json/schema/$ref")
                        .asText()
                : "#/components/schemas/Problem";
        return mistakes(schema, reply.body());
    }

    Set<String> mistakes(String schema, String json) throws IOException {
        return schemas.computeIfAbsent(schema, this::schema).validate(new ObjectMapper().readTree(json)).stream()
                .map(ValidationMessage::getMessage)
                .collect(Collectors.toSet());
    }

    private JsonSchema schema(String name) {
        ObjectNode root = new ObjectMapper().createObjectNode();
        root.put("$ref", name);
        root.set("components", document.get("components"));
        return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(root);
    }
}
