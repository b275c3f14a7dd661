package dev.palisade.gateway;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.TextFormat;
import io.grpc.BindableService;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoFileDescriptorSupplier;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A gRPC service whose messages name the order, as protobuf; it logs them as bytes. */
final class OrderService implements AutoCloseable {
    /** What protoc makes of its proto file, in protobuf's text format. */
    private static final String ITEM = """
            name: "item.proto" package: "shop" syntax: "proto3"
            message_type { name: "Item"
              field { name: "code" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
              field { name: "count" number: 2 type: TYPE_UINT64 label: LABEL_OPTIONAL }
              field { name: "line" number: 3 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 0 proto3_optional: true }
              oneof_decl { name: "_line" } }
            """;

    private static final String ORDERS = """
            name: "orders.proto" package: "shop" syntax: "proto3" dependency: "item.proto"
            message_type { name: "Order"
              field { name: "id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
              field { name: "item" number: 2 type: TYPE_MESSAGE type_name: ".shop.Item" label: LABEL_OPTIONAL }
              field { name: "tags" number: 3 type: TYPE_STRING label: LABEL_REPEATED }
              field { name: "raw" number: 4 type: TYPE_BYTES label: LABEL_OPTIONAL }
              field { name: "paid" number: 5 type: TYPE_BOOL label: LABEL_OPTIONAL }
              field { name: "cash" number: 6 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
              oneof_decl { name: "how" } }
            message_type { name: "Report" }
            service { name: "Orders"
              method { name: "Pay" input_type: ".shop.Order" output_type: ".shop.Report" }
              method { name: "Ship" input_type: ".shop.Order" output_type: ".shop.Report" }
              method { name: "Watch" input_type: ".shop.Order" output_type: ".shop.Report" server_streaming: true }
              method { name: "Upload" input_type: ".shop.Order" output_type: ".shop.Report" client_streaming: true } }
            """;

    static final MethodDescriptor<byte[], byte[]> PAY = method(MethodType.UNARY, "Pay");
    static final MethodDescriptor<byte[], byte[]> SHIP = method(MethodType.UNARY, "Ship");
    static final MethodDescriptor<byte[], byte[]> WATCH = method(MethodType.SERVER_STREAMING, "Watch");

    /** Received messages of all methods. */
    final List<byte[]> log = new CopyOnWriteArrayList<>();

    private final Server server;

    /** @param reflection may be empty */
    OrderService(BindableService... reflection) {
        try {
            NettyServerBuilder builder = NettyServerBuilder.forAddress(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    .addService(ServerServiceDefinition.builder(ServiceDescriptor.newBuilder("shop.Orders")
                                    .setSchemaDescriptor((ProtoFileDescriptorSupplier) OrderService::descriptor)
                                    .addMethod(PAY)
                                    .addMethod(SHIP)
                                    .addMethod(WATCH)
                                    .build())
                            .addMethod(PAY, ServerCalls.asyncUnaryCall(this::on))
                            .addMethod(SHIP, ServerCalls.asyncUnaryCall(this::on))
                            .addMethod(WATCH, ServerCalls.asyncServerStreamingCall(this::on))
                            .build());
            for (BindableService each : reflection) {
                builder.addService(each);
            }
            server = builder.build().start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void on(byte[] message, StreamObserver<byte[]> replies) {
        log.add(message);
        replies.onNext(new byte[0]);
        replies.onCompleted();
    }

    private static MethodDescriptor<byte[], byte[]> method(MethodType type, String name) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setType(type)
                .setFullMethodName("shop.Orders/" + name)
                .build();
    }

    private static FileDescriptor descriptor() {
        try {
            FileDescriptor item = FileDescriptor.buildFrom(file(ITEM), new FileDescriptor[0]);
            return FileDescriptor.buildFrom(file(ORDERS), new FileDescriptor[] {item});
        } catch (DescriptorValidationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static FileDescriptorProto file(String text) {
        try {
            FileDescriptorProto.Builder file = FileDescriptorProto.newBuilder();
            TextFormat.merge(text, file);
            return file.build();
        } catch (TextFormat.ParseException e) {
            throw new IllegalStateException(e);
        }
    }

    /** @param orders false: the file that it imports */
    static FileDescriptorProto file(boolean orders) {
        return file(orders ? ORDERS : ITEM);
    }

    /** As protoc writes it with --include_imports. */
    static byte[] descriptorSet() {
        return FileDescriptorSet.newBuilder()
                .addFile(file(ITEM))
                .addFile(file(ORDERS))
                .build()
                .toByteArray();
    }

    /** As protoc writes it without --include_imports. */
    static byte[] descriptorSetWithoutImports() {
        return FileDescriptorSet.newBuilder().addFile(file(ORDERS)).build().toByteArray();
    }

    String address() {
        return "127.0.0.1:" + server.getPort();
    }

    @Override
    public void close() {
        server.shutdownNow();
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
