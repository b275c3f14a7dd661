package dev.palisade.guard.grpc;

import com.google.protobuf.DescriptorProtos.MethodOptions;
import com.google.protobuf.Descriptors;
import com.google.protobuf.ExtensionRegistry;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.palisade.contract.LockName;
import dev.palisade.contract.Reason;
import dev.palisade.contract.Rejection;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import dev.palisade.proto.v1.Fenced;
import dev.palisade.proto.v1.GuardGrpc;
import dev.palisade.proto.v1.GuardOuterClass;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Every method of the services of one interceptor, and how it is guarded. Immutable once checked. */
final class Routes {
    private static final ExtensionRegistry EXTENSIONS = ExtensionRegistry.newInstance();

    static {
        EXTENSIONS.add(GuardOuterClass.fenced);
    }

    private final Map<String, MethodDescriptor<?, ?>> methods = new HashMap<>();
    private final Map<String, Route> routes = new HashMap<>();
    private final Set<String> unguarded = new HashSet<>();
    private final Set<String> unguardedServices = new HashSet<>(Set.of(GuardGrpc.SERVICE_NAME));
    private final List<String> problems = new ArrayList<>();
    private Function<String, Optional<LockName>> claimable = resource -> Optional.empty();

    /** Binds the methods that say by the {@code (palisade.v1.fenced)} option what guards them. */
    void service(ServiceDescriptor service) {
        for (MethodDescriptor<?, ?> method : service.getMethods()) {
            methods.put(method.getFullMethodName(), method);
            Descriptors.MethodDescriptor schema = schema(method);
            Fenced fenced = schema == null ? Fenced.getDefaultInstance() : option(schema);
            if (!fenced.equals(Fenced.getDefaultInstance())) {
                switch (fenced.getAccess()) {
                    case READ -> template(method, Access.READ, fenced.getLock());
                    case WRITE, ACCESS_UNSPECIFIED -> template(method, Access.WRITE, fenced.getLock());
                    case UNRECOGNIZED ->
                        problem(method, "its access " + fenced.getAccessValue() + " is unknown; use READ or WRITE");
                }
            }
        }
    }

    void template(MethodDescriptor<?, ?> method, Access access, String lock) {
        String name = method.getFullMethodName();
        Descriptors.MethodDescriptor schema = schema(method);
        if (schema == null) {
            problem(method, "it has no protobuf descriptor to read fields by; bind it by a function");
            return;
        }
        try {
            route(method, Route.ofTemplate(name, access, FieldTemplate.parse(lock, schema.getInputType())));
        } catch (IllegalArgumentException e) {
            problem(method, e.getMessage());
            unguarded.add(name); // Told once is enough.
        }
    }

    void function(MethodDescriptor<?, ?> method, Access access, Function<Object, List<Binding>> resources) {
        route(method, new Route(method.getFullMethodName(), access, Check.LOCAL, resources, resource -> false));
    }

    private void route(MethodDescriptor<?, ?> method, Route route) {
        if (known(method) && routes.put(route.method(), route) != null) {
            problem(method, "it is bound twice, by its option or in code; keep one");
        }
    }

    void check(MethodDescriptor<?, ?> method, Check check) {
        if (known(method)
                && routes.computeIfPresent(method.getFullMethodName(), (name, route) -> route.with(check)) == null) {
            problem(method, "it has a check and no lock; bind it first");
        }
    }

    void unguarded(MethodDescriptor<?, ?> method) {
        if (known(method)) {
            unguarded.add(method.getFullMethodName());
        }
    }

    void unguarded(ServiceDescriptor service) {
        unguardedServices.add(service.getName());
    }

    void claimable(Function<String, Optional<LockName>> lockOf) {
        claimable = lockOf;
    }

    private boolean known(MethodDescriptor<?, ?> method) {
        boolean known = methods.containsKey(method.getFullMethodName());
        if (!known) {
            problem(method, "it is of none of the guarded services; name its service too");
        }
        return known;
    }

    private void problem(MethodDescriptor<?, ?> method, @Nullable String what) {
        problems.add(method.getFullMethodName() + ": " + what);
    }

    /** @throws IllegalArgumentException with every problem there is, a line each */
    Routes checked(boolean lockService) {
        for (String method : methods.keySet()) {
            Route route = routes.get(method);
            if (route == null && !isSaidToBeUnguarded(method)) {
                problems.add(
                        method + ": nothing says which lock guards it; mark it with the (palisade.v1.fenced) option,"
                                + " bind it in code, or say that it is unguarded");
            } else if (route != null && isSaidToBeUnguarded(method)) {
                problems.add(method + ": it is bound and said to be unguarded; keep one");
            } else if (route != null && route.check() == Check.ONLINE && !lockService) {
                problems.add(
                        method + ": an ONLINE check needs a guard with a lock service; see Guard.Builder.lockService");
            }
        }
        if (!problems.isEmpty()) {
            throw new IllegalArgumentException("the guard cannot guard these methods:\n"
                    + String.join("\n", problems.stream().sorted().toList()));
        }
        return this;
    }

    /** Full names of the services that have a guarded method. */
    Set<String> guardedServices() {
        return routes.keySet().stream()
                .map(MethodDescriptor::extractFullServiceName)
                .filter(Objects::nonNull)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    boolean isUnguarded(String method) {
        return !routes.containsKey(method) && isSaidToBeUnguarded(method);
    }

    private boolean isSaidToBeUnguarded(String method) {
        String service = MethodDescriptor.extractFullServiceName(method);
        return unguarded.contains(method) || (service != null && unguardedServices.contains(service));
    }

    /** @throws dev.palisade.contract.RejectedException PERMISSION_DENIED, for a method without a binding */
    Route of(String method) {
        Route route = routes.get(method);
        if (route == null) {
            throw new Rejection(
                            Reason.PERMISSION_DENIED,
                            "the guard does not know method " + method
                                    + "; bind it to a lock or say that it is unguarded")
                    .asException();
        }
        return route;
    }

    /**
     * The binding of the resource of that name.
     *
     * @throws dev.palisade.contract.RejectedException WRONG_RESOURCE when no request can use it, MALFORMED_REQUEST when it is
     *     no name
     */
    Binding binding(String resource) {
        Optional<LockName> lock = claimable.apply(resource);
        if (lock.isPresent()) {
            return new Binding(resource, lock.get());
        }
        Binding own = Binding.of(resource);
        if (routes.values().stream().noneMatch(route -> route.canName().test(resource))) {
            throw new Rejection(
                            Reason.WRONG_RESOURCE,
                            "no guarded method uses a resource '" + resource + "'; claim one that the lock guards here")
                    .with(Rejection.RESOURCE, resource)
                    .asException();
        }
        return own;
    }

    private static Descriptors.@Nullable MethodDescriptor schema(MethodDescriptor<?, ?> method) {
        return method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier supplier
                ? supplier.getMethodDescriptor()
                : null;
    }

    /** Parsed anew: the option is an unknown field to a descriptor that was built without this class. */
    private static Fenced option(Descriptors.MethodDescriptor schema) {
        try {
            return MethodOptions.parseFrom(schema.getOptions().toByteString(), EXTENSIONS)
                    .getExtension(GuardOuterClass.fenced);
        } catch (InvalidProtocolBufferException e) {
            throw new IllegalArgumentException("the options of " + schema.getFullName() + " cannot be read", e);
        }
    }
}
