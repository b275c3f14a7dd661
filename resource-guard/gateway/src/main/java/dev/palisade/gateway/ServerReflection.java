package dev.palisade.gateway;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.InvalidProtocolBufferException;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.Deadline;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.ClientCalls;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Client of a gRPC service's reflection, {@code grpc.reflection.v1} or else {@code v1alpha}, whose messages are the
 * same. Used once, when the gateway starts.
 */
final class ServerReflection {
    /** For all questions to one instance. */
    private static final int SECONDS = 20;

    private static final int BYTES_MAX = 64 << 20;

    private static final MethodDescriptor<ServerReflectionRequest, ServerReflectionResponse> V1 =
            ServerReflectionGrpc.getServerReflectionInfoMethod();
    private static final MethodDescriptor<ServerReflectionRequest, ServerReflectionResponse> V1ALPHA = V1.toBuilder()
            .setFullMethodName("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
            .build();

    private final ManagedChannel channel;
    private final MethodDescriptor<ServerReflectionRequest, ServerReflectionResponse> method;
    private final CallOptions options;
    private final Map<String, FileDescriptorProto> files = new HashMap<>();

    private ServerReflection(
            ManagedChannel channel,
            MethodDescriptor<ServerReflectionRequest, ServerReflectionResponse> method,
            CallOptions options) {
        this.channel = channel;
        this.method = method;
        this.options = options;
    }

    /**
     * The methods of the first of these instances that replies.
     *
     * @param addresses {@code host:port}, one or more
     * @throws IOException in one line, when none does
     */
    static GrpcMethods methods(List<String> addresses, ChannelCredentials credentials) throws IOException {
        String why = "";
        for (String address : addresses) {
            ManagedChannel channel = Grpc.newChannelBuilder("dns:///" + address, credentials)
                    .maxInboundMessageSize(BYTES_MAX)
                    .build();
            try {
                return methods(channel);
            } catch (StatusRuntimeException e) {
                Status status = e.getStatus();
                why = "the service at " + address
                        + (status.getCode() == Status.Code.UNIMPLEMENTED
                                ? " has no reflection (grpc.reflection.v1 or v1alpha); turn it on, or name a file with"
                                        + " descriptors"
                                : " cannot be asked for its descriptors (" + status.getCode()
                                        + "); start it before the gateway, or name a file with descriptors");
            } finally {
                channel.shutdownNow();
            }
        }
        throw new IOException(why);
    }

    private static GrpcMethods methods(ManagedChannel channel) throws IOException {
        CallOptions options = CallOptions.DEFAULT.withDeadline(Deadline.after(SECONDS, TimeUnit.SECONDS));
        try {
            return new ServerReflection(channel, V1, options).methods();
        } catch (StatusRuntimeException e) {
            if (e.getStatus().getCode() != Status.Code.UNIMPLEMENTED) {
                throw e;
            }
            return new ServerReflection(channel, V1ALPHA, options).methods();
        }
    }

    private GrpcMethods methods() throws IOException {
        ServerReflectionResponse listed =
                ask(ServerReflectionRequest.newBuilder().setListServices("*").build());
        Deque<String> missing = new ArrayDeque<>();
        for (ServiceResponse service : listed.getListServicesResponse().getServiceList()) {
            // One that its server has no descriptor of is no service of protobuf.
            missing.addAll(add(ask(ServerReflectionRequest.newBuilder()
                    .setFileContainingSymbol(service.getName())
                    .build())));
        }
        while (!missing.isEmpty()) {
            String name = missing.remove();
            if (!files.containsKey(name)) {
                missing.addAll(add(ask(ServerReflectionRequest.newBuilder()
                        .setFileByFilename(name)
                        .build())));
            }
        }
        return GrpcMethods.of(files.values());
    }

    private ServerReflectionResponse ask(ServerReflectionRequest question) {
        return ClientCalls.blockingUnaryCall(channel, method, options, question);
    }

    /** Imports of the files in a response. */
    private List<String> add(ServerReflectionResponse response) throws IOException {
        Deque<String> imports = new ArrayDeque<>();
        for (ByteString bytes : response.getFileDescriptorResponse().getFileDescriptorProtoList()) {
            try {
                FileDescriptorProto file = FileDescriptorProto.parseFrom(bytes);
                files.put(file.getName(), file);
                imports.addAll(file.getDependencyList());
            } catch (InvalidProtocolBufferException e) {
                throw new IOException("the service's reflection gives a file that is no descriptor; name a file with"
                        + " descriptors");
            }
        }
        return List.copyOf(imports);
    }
}
