package dev.palisade.guard.grpc;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.grpc.SequencerHeader;
import dev.palisade.guard.Access;
import dev.palisade.guard.Admission;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import dev.palisade.guard.Guard;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServiceDescriptor;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/**
 * Lets a call reach its handler only when the {@link Guard} has admitted it, and keeps it admitted until the handler has
 * closed the call. It blocks no thread. The lock is read from the first message, so a handler starts when that has
 * arrived. A call without a message is refused, and so is every method without a binding.
 *
 * <ul>
 *   <li>Every message of a stream must name the resources of the first, else the call ends with WRONG_RESOURCE.
 *   <li>A stream (anything but a unary call) is cancelled with TOKEN_STALE when a newer grant waits for it to end.
 *   <li>A handler that was cancelled and has not closed its call, or that threw, may still be at work: the guard then
 *       counts it as such until it closes the call after all, or for {@code Guard.Builder.unknownOutcomeTimeout}. Close the call
 *       in {@code onError} and {@code onCancel} handlers when the work has stopped; that notifies the guard and sends nothing.
 *   <li>Work that outlives the call needs {@code admission().get().retain()}. What a handler does after closing its call is
 *       not guarded.
 * </ul>
 *
 * <p>Put it innermost, next to the service. Safe for use by several threads.
 */
public final class GuardInterceptor implements ServerInterceptor {
    static final Context.Key<Admission> ADMISSION = Context.key("palisade-admission");

    private final Guard guard;
    private final Routes routes;

    private GuardInterceptor(Guard guard, Routes routes) {
        this.guard = guard;
        this.routes = routes;
    }

    /**
     * For services whose methods all say by the {@code (palisade.v1.fenced)} option which lock guards them.
     *
     * @throws IllegalArgumentException with a line for each method that does not, or whose option cannot be right
     */
    public static GuardInterceptor of(Guard guard, ServiceDescriptor... services) {
        return builder(guard, services).build();
    }

    /** For services of whose methods some are bound in code. */
    public static Builder builder(Guard guard, ServiceDescriptor... services) {
        return new Builder(guard, services);
    }

    /** The admission of the call of the current {@link Context}; empty without a guard, or when it only observes. */
    public static Optional<Admission> admission() {
        return Optional.ofNullable(ADMISSION.get());
    }

    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
        String method = call.getMethodDescriptor().getFullMethodName();
        if (routes.isUnguarded(method)) {
            return next.startCall(call, headers);
        }
        Route route;
        SignedSequencer signed;
        try {
            route = routes.of(method);
            signed = SequencerHeader.require(headers);
        } catch (RejectedException e) {
            if (!guard.recordRefusal(e.rejection())) {
                return next.startCall(call, headers);
            }
            Route.refuse(call, e.rejection());
            return new ServerCall.Listener<>() {};
        }
        if (guard.observesOnly()) {
            return new ObservedCall<>(guard, route, signed, next.startCall(call, headers));
        }
        GuardedCall<Q, R> guarded = new GuardedCall<>(guard, route, signed, call, headers, next);
        guarded.begin();
        return guarded;
    }

    Guard guard() {
        return guard;
    }

    Routes routes() {
        return routes;
    }

    /**
     * Builder of a {@link GuardInterceptor}. {@link #build} reports all problems at once. Not safe for use by
     * several threads.
     */
    public static final class Builder {
        private final Guard guard;
        private final Routes routes = new Routes();

        private Builder(Guard guard, ServiceDescriptor... services) {
            this.guard = guard;
            for (ServiceDescriptor service : services) {
                routes.service(service);
            }
        }

        /**
         * Binds a method whose .proto cannot be marked.
         *
         * @param lock with placeholders for fields of the request, as in {@code orders/{order_id}}
         */
        public Builder method(MethodDescriptor<?, ?> method, Access access, String lock) {
            routes.template(method, access, lock);
            return this;
        }

        /**
         * Binds a method to the lock that {@code lock} names for a request. It is asked for every message, on a thread of
         * gRPC's, and must not block; what it throws refuses the call as MALFORMED_REQUEST.
         */
        public <Q> Builder method(MethodDescriptor<Q, ?> method, Access access, Function<? super Q, String> lock) {
            return resources(method, access, request -> List.of(Binding.of(lock.apply(request))));
        }

        /**
         * Binds a method that uses a resource narrower than its lock, or several resources of one lock. See {@link #method(
         * MethodDescriptor, Access, Function)}. A resource must have the same lock in every request.
         */
        @SuppressWarnings("unchecked") // gRPC gives a method's interceptor requests of the method's own type.
        public <Q> Builder resources(
                MethodDescriptor<Q, ?> method, Access access, Function<? super Q, List<Binding>> resources) {
            routes.function(method, access, request -> resources.apply((Q) request));
            return this;
        }

        /** The check of each call of this method; {@link Check#LOCAL} by default. Bind the method first. */
        public Builder check(MethodDescriptor<?, ?> method, Check check) {
            routes.check(method, check);
            return this;
        }

        /** Lets every call of this method pass, unseen. */
        public Builder unguarded(MethodDescriptor<?, ?> method) {
            routes.unguarded(method);
            return this;
        }

        /** Lets every call of this service pass, unseen: health, reflection. */
        public Builder unguarded(ServiceDescriptor service) {
            routes.unguarded(service);
            return this;
        }

        /**
         * Which resources may be claimed that functions name, and the lock of each; empty for any other. Those of templates may
         * be claimed anyway.
         */
        public Builder claimable(Function<String, Optional<LockName>> lockOf) {
            routes.claimable(lockOf);
            return this;
        }

        /** @throws IllegalArgumentException with a line for each problem there is */
        public GuardInterceptor build() {
            Routes checked = routes.checked(guard.hasLockService());
            checked.guardedServices().forEach(guard::protects);
            return new GuardInterceptor(guard, checked);
        }
    }
}
