package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.grpc.BindableService;
import io.grpc.protobuf.services.ProtoReflectionService;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Descriptors of messages that name locks: where they come from, and what a config that they do not fit gets. */
class GrpcDescriptorsTest {
    @TempDir
    Path directory;

    @BeforeEach
    void descriptors() throws IOException {
        Files.write(directory.resolve("orders.desc"), OrderService.descriptorSet());
        Files.write(directory.resolve("alone.desc"), OrderService.descriptorSetWithoutImports());
        Files.writeString(directory.resolve("text.desc"), "no descriptors");
    }

    private Path file(String upstream, String... routes) throws IOException {
        StringBuilder text =
                new StringBuilder("protects: orders\nlisten: 127.0.0.1:0\nupstream:\n  " + upstream + "\nroutes:\n");
        for (String route : routes) {
            text.append("  - ").append(route).append('\n');
        }
        return Files.writeString(directory.resolve("gateway.yaml"), text);
    }

    private static String http2(String address, String descriptors) {
        return "addresses: " + address + "\n  protocol: http2\n  descriptors: " + descriptors;
    }

    private static List<String> lines(ConfigRefused refused) {
        return refused.lines().stream()
                .map(line -> line.replaceFirst("^.*gateway.yaml:", ""))
                .toList();
    }

    private static List<String> mistakes(Path file) {
        return lines(catchThrowableOfType(ConfigRefused.class, () -> ConfigFile.read(file.toString())));
    }

    private static String route(String path, String lock) {
        return "{path: \"/shop.Orders/" + path + "\", lock: \"" + lock + "\"}";
    }

    private static final String[] WRONG = {
        route("Pya", "o/{message.id}"),
        route("Pay", "o/{message.idd}/{message.tags}/{message.raw}/{message.paid}/{message.cash}"),
        route("Ship", "o/{message.item}/{message.id.code}/{message.item.cod}/{message.item.}"),
        route("{method}", "o/{message.id}"),
        "{path: /shop.Nothing/Pay, lock: \"o/{message.id}\"}"
    };

    private static List<String> wrong(int first) {
        String pay = ": lock 'o/{message.idd}/{message.tags}/{message.raw}/{message.paid}/{message.cash}', method"
                + " shop.Orders.Pay: ";
        String ship = ": lock 'o/{message.item}/{message.id.code}/{message.item.cod}/{message.item.}', method"
                + " shop.Orders.Ship: ";
        return List.of(
                first + ": no method of the descriptors has the path '/shop.Orders/Pya'; did you mean"
                        + " /shop.Orders/Pay?",
                first + 1 + pay + "there is no field 'idd' of shop.Order; did you mean id?",
                first + 1 + pay + "field 'tags' of shop.Order is repeated; only one that is there once can name a lock",
                first + 1 + pay + "field 'raw' of shop.Order is of type bytes; only a string or an integer can name a"
                        + " lock",
                first + 1 + pay + "field 'paid' of shop.Order is of type bool; only a string or an integer can name a"
                        + " lock",
                first + 1 + pay + "field 'cash' of shop.Order is in the oneof 'how'; only one outside of a oneof can"
                        + " name a lock",
                first + 2 + ship + "field 'item' of shop.Order is a message; name a field of it, such as item.code",
                first + 2 + ship + "field 'id' of shop.Order is no message; end the path there",
                first + 2 + ship + "there is no field 'cod' of shop.Item; did you mean code?",
                first + 2 + ship + "there is no field '' of shop.Item; its fields are code, count, line",
                first + 3 + ": lock 'o/{message.id}', method shop.Orders.Upload: it takes a stream of messages, which"
                        + " may name several locks; take the name from a header, in a route of its own before this"
                        + " one",
                first + 4 + ": no method of the descriptors has the path '/shop.Nothing/Pay'; write"
                        + " /package.Service/Method, and name the service's own descriptors");
    }

    @Test
    void everyMistakeOfMessageFieldsIsALine() throws Exception {
        assertThat(mistakes(file(http2("127.0.0.1:1", "orders.desc"), WRONG))).containsExactlyElementsOf(wrong(8));
    }

    @Test
    void messageFieldsNeedGrpcAndDescriptors() throws Exception {
        assertThat(mistakes(file("addresses: 127.0.0.1:1", route("Pay", "o/{message.id}"))))
                .containsExactly(
                        "6: lock 'o/{message.id}' names a field of a message of gRPC; set protocol: http2 of upstream");
        assertThat(mistakes(file("addresses: 127.0.0.1:1\n  protocol: http2", route("Pay", "o/{message.id}"))))
                .containsExactly("7: lock 'o/{message.id}' names a field of a message; give upstream descriptors: FILE"
                        + " or descriptors: reflection");
    }

    @Test
    void unusableDescriptorFileIsALine() throws Exception {
        String pay = route("Pay", "o/{message.id}");
        assertThat(mistakes(file(http2("127.0.0.1:1", "none.desc"), pay)))
                .containsExactly(
                        "6: descriptors " + directory.resolve("none.desc")
                                + " does not exist; make it with protoc --descriptor_set_out --include_imports, or name another");
        assertThat(mistakes(file(http2("127.0.0.1:1", "text.desc"), pay)))
                .containsExactly("6: " + directory.resolve("text.desc")
                        + " is no descriptor set; make it with protoc --descriptor_set_out --include_imports");
        assertThat(mistakes(file(http2("127.0.0.1:1", "alone.desc"), pay)))
                .containsExactly("6: " + directory.resolve("alone.desc")
                        + ": the import item.proto is missing; make the descriptors with --include_imports");
    }

    @Test
    void checkListsTheFieldAndSaysWhenReflectionIsAsked() throws Exception {
        Path file = file(http2("127.0.0.1:1", "reflection"), route("Pay", "o/{message.id}"));
        StringWriter out = new StringWriter();
        new CommandLine(new CheckCommand()).setOut(new PrintWriter(out)).execute(file.toString());
        assertThat(out.toString().lines())
                .anyMatch(line -> line.endsWith("o/{message.id}"))
                .contains("the fields of messages are checked at the start, by the reflection of the service");
    }

    private static Gateway start(Path file) throws Exception {
        TestLocks locks = new TestLocks();
        return Gateway.start(ConfigFile.read(file.toString()), locks.verifier(), locks);
    }

    @SuppressWarnings("deprecation") // The older version is what is tried.
    private static List<BindableService> versions() {
        return List.of(ProtoReflectionServiceV1.newInstance(), ProtoReflectionService.newInstance());
    }

    @Test
    void bothVersionsOfReflectionGiveTheFieldsAndTheMistakes() throws Exception {
        for (BindableService version : versions()) {
            try (OrderService service = new OrderService(version)) {
                Path wrong = file(http2(service.address(), "reflection"), WRONG);
                assertThat(lines(catchThrowableOfType(ConfigRefused.class, () -> start(wrong))))
                        .containsExactlyElementsOf(wrong(8));
                Path right = file(
                        http2("[127.0.0.1:1, " + service.address() + "]", "reflection") + "\nmarks: m"
                                + version.getClass().getSimpleName(),
                        route("Pay", "o/{message.item.code}"));
                GatewayFixture.closeLater(start(right));
            }
        }
    }

    /** Gives one file at a time, without what it imports, as some servers do. */
    private static final class OneFile extends ServerReflectionGrpc.ServerReflectionImplBase {
        @Override
        public StreamObserver<ServerReflectionRequest> serverReflectionInfo(
                StreamObserver<ServerReflectionResponse> replies) {
            return new StreamObserver<>() {
                @Override
                public void onNext(ServerReflectionRequest question) {
                    replies.onNext(reply(question));
                }

                @Override
                public void onError(Throwable failure) {}

                @Override
                public void onCompleted() {
                    replies.onCompleted();
                }
            };
        }

        private static ServerReflectionResponse reply(ServerReflectionRequest question) {
            ServerReflectionResponse.Builder reply = ServerReflectionResponse.newBuilder();
            if (question.hasListServices()) {
                reply.getListServicesResponseBuilder().addServiceBuilder().setName("shop.Orders");
            } else {
                reply.getFileDescriptorResponseBuilder()
                        .addFileDescriptorProto(OrderService.file(question.hasFileContainingSymbol())
                                .toByteString());
            }
            return reply.build();
        }
    }

    @Test
    void importsThatReflectionLeavesOutAreAskedFor() throws Exception {
        try (OrderService service = new OrderService(new OneFile())) {
            Path file =
                    file(http2(service.address(), "reflection") + "\nmarks: m", route("Pay", "o/{message.item.code}"));
            GatewayFixture.closeLater(start(file));
        }
    }

    @Test
    void serviceWithoutReflectionIsALine() throws Exception {
        try (OrderService service = new OrderService()) {
            Path file = file(http2(service.address(), "reflection"), route("Pay", "o/{message.id}"));
            assertThatThrownBy(() -> start(file))
                    .isInstanceOf(IOException.class)
                    .hasMessage("the service at " + service.address()
                            + " has no reflection (grpc.reflection.v1 or v1alpha); turn it on, or name a file with"
                            + " descriptors");
        }
        Path file = file(http2("127.0.0.1:1", "reflection"), route("Pay", "o/{message.id}"));
        assertThatThrownBy(() -> start(file))
                .isInstanceOf(IOException.class)
                .hasMessage("the service at 127.0.0.1:1 cannot be asked for its descriptors (UNAVAILABLE); start it"
                        + " before the gateway, or name a file with descriptors");
    }

    @Test
    void textOfOtherScriptsIsTakenAsItIs() throws Exception {
        MessageField id = MessageField.of(
                GrpcMethods.ofFile(directory.resolve("orders.desc"))
                        .byPath()
                        .get("/shop.Orders/Pay")
                        .getInputType(),
                "id");
        byte[] text = "\n\u0004\u00fc\u00fc".getBytes(StandardCharsets.UTF_8);
        assertThat(id.read(text, 0)).isEqualTo("\u00fc\u00fc");
    }
}
