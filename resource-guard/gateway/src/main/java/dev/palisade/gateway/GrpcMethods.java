package dev.palisade.gateway;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/** Index of the methods of a gRPC service by their paths, from its protobuf descriptors. Immutable. */
final class GrpcMethods {
    /** Some hundred times the descriptors of a large service. */
    private static final long FILE_BYTES_MAX = 64 << 20;

    private final SortedMap<String, MethodDescriptor> byPath = new TreeMap<>();

    private GrpcMethods() {}

    /**
     * Reads what {@code protoc --descriptor_set_out --include_imports} writes.
     *
     * @throws IOException in one line, when the file cannot be used
     */
    static GrpcMethods ofFile(Path file) throws IOException {
        byte[] bytes;
        try {
            if (Files.size(file) > FILE_BYTES_MAX) {
                throw new IOException("too large");
            }
            bytes = Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            throw new IOException("descriptors " + file
                    + " does not exist; make it with protoc --descriptor_set_out --include_imports, or name another");
        } catch (IOException e) {
            throw new IOException("cannot read descriptors " + file + " ("
                    + e.getClass().getSimpleName() + "); name a file of protoc --descriptor_set_out");
        }
        try {
            return of(FileDescriptorSet.parseFrom(bytes).getFileList());
        } catch (InvalidProtocolBufferException e) {
            throw new IOException(
                    file + " is no descriptor set; make it with protoc --descriptor_set_out" + " --include_imports");
        } catch (IOException e) {
            throw new IOException(file + ": " + e.getMessage());
        }
    }

    /**
     * @param files with all that they import
     * @throws IOException in one line, when an import is missing or a file contradicts itself
     */
    static GrpcMethods of(Collection<FileDescriptorProto> files) throws IOException {
        Map<String, FileDescriptorProto> sources = new HashMap<>();
        files.forEach(file -> sources.put(file.getName(), file));
        Map<String, FileDescriptor> built = new HashMap<>();
        GrpcMethods methods = new GrpcMethods();
        for (String name : sources.keySet()) {
            for (ServiceDescriptor service :
                    build(name, sources, built, new LinkedHashSet<>()).getServices()) {
                for (MethodDescriptor method : service.getMethods()) {
                    methods.byPath.put("/" + service.getFullName() + "/" + method.getName(), method);
                }
            }
        }
        return methods;
    }

    /** @param importing names of the files whose imports are being built */
    private static FileDescriptor build(
            String name,
            Map<String, FileDescriptorProto> sources,
            Map<String, FileDescriptor> built,
            Set<String> importing)
            throws IOException {
        FileDescriptor ready = built.get(name);
        if (ready != null) {
            return ready;
        }
        FileDescriptorProto source = sources.get(name);
        if (source == null) {
            throw new IOException("the import " + name + " is missing; make the descriptors with --include_imports");
        }
        if (!importing.add(name)) {
            throw new IOException("the file " + name + " imports itself; make the descriptors with protoc");
        }
        List<FileDescriptor> imports = new ArrayList<>();
        for (String each : source.getDependencyList()) {
            imports.add(build(each, sources, built, importing));
        }
        importing.remove(name);
        try {
            FileDescriptor file = FileDescriptor.buildFrom(source, imports.toArray(new FileDescriptor[0]));
            built.put(name, file);
            return file;
        } catch (DescriptorValidationException e) {
            throw new IOException("the file " + name + " is no valid one: "
                    + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
        }
    }

    /** From {@code /package.Service/Method} to the method, sorted. */
    SortedMap<String, MethodDescriptor> byPath() {
        return Collections.unmodifiableSortedMap(byPath);
    }
}
