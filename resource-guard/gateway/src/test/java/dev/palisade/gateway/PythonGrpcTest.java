package dev.palisade.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.Timestamp;
import dev.palisade.contract.SignedSequencer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;

/**
 * Locks that messages name, with a service and a client of Python's grpcio, stubs and descriptors by protoc. Left out
 * where these are missing: {@code python3-grpcio python3-protobuf protobuf-compiler} of Debian.
 */
class PythonGrpcTest {
    private static final String PROTO = """
            syntax = "proto3";
            package shop;
            import "google/protobuf/timestamp.proto";
            message Item { string code = 1; uint64 count = 2; }
            message Order { string id = 1; Item item = 2; google.protobuf.Timestamp at = 3; bytes raw = 4; }
            service Orders {
              rpc Pay(Order) returns (Order);
              rpc Ship(Order) returns (stream Order);
            }
            """;

    private static final String SERVICE = """
            import sys, grpc, concurrent.futures
            from orders_pb2 import Order
            def serve(order):
                print('got', order.id, order.item.code, len(order.raw), flush=True)
                return order
            kinds = {
                'Pay': grpc.unary_unary_rpc_method_handler(lambda order, call: serve(order), Order.FromString,
                                                           Order.SerializeToString),
                'Ship': grpc.unary_stream_rpc_method_handler(lambda order, call: iter([serve(order)] * 2),
                                                             Order.FromString, Order.SerializeToString)}
            server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler('shop.Orders', kinds),))
            print('port', server.add_insecure_port('127.0.0.1:0'), flush=True)
            server.start()
            sys.stdin.read()
            """;

    /** Arguments: address, method, id, code, bytes, compression, sequencer as hexadecimal digits. */
    private static final String CLIENT = """
            import sys, grpc, time
            from orders_pb2 import Order
            address, method, id, code, size, compression, sequencer = sys.argv[1:]
            order = Order(id=id, raw=bytes(int(size)))
            order.item.code = code
            order.at.GetCurrentTime()
            channel = grpc.insecure_channel(address)
            kind = channel.unary_stream if method == 'Ship' else channel.unary_unary
            call = kind('/shop.Orders/' + method, Order.SerializeToString, Order.FromString)
            for attempt in range(100):
                try:
                    reply = call(order, timeout=60, metadata=[('sequencer-bin', bytes.fromhex(sequencer))],
                                 compression=grpc.Compression.Gzip if compression == 'gzip' else None)
                    replies = list(reply) if method == 'Ship' else [reply]
                    assert all(each == order for each in replies)
                    print('OK', len(replies))
                except grpc.RpcError as e:
                    if e.code() == grpc.StatusCode.UNAVAILABLE:
                        continue
                    print(e.code().name, e.details())
                break
            """;

    /** Stays behind: gateways are closed in the background. */
    @TempDir(cleanup = CleanupMode.NEVER)
    Path directory;

    private String python;
    private Process service;
    private BufferedReader log;
    private GatewayFixture gateway;

    @BeforeEach
    void start() throws Exception {
        Optional<String> found = Stream.of("python3", "/usr/bin/python3")
                .filter(each -> succeeds(each, "-c", "import grpc, google.protobuf"))
                .findFirst();
        Files.writeString(directory.resolve("orders.proto"), PROTO);
        // Debian has it in a package of its own, for C++.
        Path imported = directory.resolve("google/protobuf/timestamp.proto");
        Files.createDirectories(imported.getParent());
        try (InputStream timestamp = Timestamp.class.getResourceAsStream("/google/protobuf/timestamp.proto")) {
            Files.copy(timestamp, imported);
        }
        Files.writeString(directory.resolve("service.py"), SERVICE);
        Files.writeString(directory.resolve("client.py"), CLIENT);
        assumeTrue(
                found.isPresent()
                        && succeeds(
                                "protoc",
                                "-I",
                                directory.toString(),
                                "--python_out=" + directory,
                                "--descriptor_set_out=" + directory.resolve("orders.desc"),
                                "--include_imports",
                                "orders.proto"),
                "no python3-grpcio, python3-protobuf and protobuf-compiler here: gRPC of Python is not tried");
        python = found.get();
        service = new ProcessBuilder(python, "service.py")
                .directory(directory.toFile())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        log = new BufferedReader(new InputStreamReader(service.getInputStream(), StandardCharsets.UTF_8));
        String port = log.readLine().replace("port ", "");
        gateway = GatewayFixture.of(
                directory,
                "upstream:\n  addresses: 127.0.0.1:" + port + "\n  protocol: http2\n  descriptors: orders.desc\n"
                        + "routes:\n  - {path: /shop.Orders/Ship, lock: \"items/{message.item.code}\"}\n"
                        + "  - {path: \"/shop.Orders/{method}\", lock: \"orders/{message.id}\"}\n");
    }

    @AfterEach
    void stop() {
        if (gateway != null) {
            gateway.close();
        }
        if (service != null) {
            service.destroyForcibly();
        }
    }

    private static boolean succeeds(String... command) {
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return process.waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private String call(String method, String id, String code, int size, String compression, String lock, long token)
            throws IOException, InterruptedException {
        String sequencer = HexFormat.of()
                .formatHex(SignedSequencer.ofText(gateway.locks.exclusive(lock, token))
                        .toBytes());
        Process client = new ProcessBuilder(List.of(
                        python,
                        "client.py",
                        "127.0.0.1:" + gateway.gateway.port(),
                        method,
                        id,
                        code,
                        Integer.toString(size),
                        compression,
                        sequencer))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String printed = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        client.waitFor();
        return printed.strip();
    }

    @Test
    void messagesOfPythonNameTheLock() throws Exception {
        assertThat(call("Pay", "42", "a", 3_000_000, "none", "orders/42", 34)).isEqualTo("OK 1");
        assertThat(log.readLine()).isEqualTo("got 42 a 3000000");
        assertThat(call("Ship", "1", "b", 0, "none", "items/b", 34)).isEqualTo("OK 2");
        assertThat(log.readLine()).isEqualTo("got 1 b 0");
        assertThat(call("Pay", "42", "a", 0, "none", "orders/42", 33)).startsWith("ABORTED ");
        assertThat(call("Pay", "43", "a", 0, "none", "orders/42", 35)).startsWith("PERMISSION_DENIED ");
        assertThat(call("Pay", "", "a", 0, "none", "orders/42", 35))
                .startsWith("INVALID_ARGUMENT ")
                .contains("'id'");
        assertThat(call("Pay", "42", "a", 100, "gzip", "orders/42", 35))
                .startsWith("INVALID_ARGUMENT ")
                .contains("is compressed");
        service.getOutputStream().close(); // It ends.
        assertThat(log.readLine()).as("nothing else came to the service").isNull();
    }
}
