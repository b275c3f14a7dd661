package dev.palisade.guard.grpc;

import com.google.protobuf.Message;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.guard.Access;
import dev.palisade.guard.Binding;
import dev.palisade.guard.Check;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.Collection;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * How one guarded method is guarded. Immutable.
 *
 * @param method its full name
 * @param naming which resources a request uses; may throw anything
 * @param canName whether some request uses the resource of that name, which is then called like its lock; a method that is
 *     bound by a function says no
 */
record Route(
        String method,
        Access access,
        Check check,
        Function<Object, ? extends Collection<Binding>> naming,
        Predicate<String> canName) {

    static Route ofTemplate(String method, Access access, FieldTemplate lock) {
        return new Route(
                method,
                access,
                Check.LOCAL,
                request -> Set.of(Binding.of(lock.lockOf((Message) request))),
                lock::canName);
    }

    Route with(Check other) {
        return new Route(method, access, other, naming, canName);
    }

    /**
     * One or more.
     *
     * @throws RejectedException MALFORMED_REQUEST, when the request names none that can be
     */
    Set<Binding> resources(Object request) {
        Collection<Binding> named;
        try {
            named = naming.apply(request);
        } catch (RejectedException e) {
            throw e;
        } catch (RuntimeException e) {
            RejectedException unnamed = RejectedException.malformed(
                    "the lock of this call of " + method + " cannot be told from its request: " + e);
            unnamed.initCause(e);
            throw unnamed;
        }
        if (named.isEmpty()) {
            throw RejectedException.malformed("this call of " + method + " names no resource; bind it to one or more");
        }
        return Set.copyOf(named);
    }

    /** For people. */
    static String names(Collection<Binding> resources) {
        return resources.stream()
                .map(binding -> "'" + binding.resource() + "'")
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** The rejection in {@code failure}. Any other failure is a bug, and refuses the call, too. */
    static Rejection rejection(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return Rejections.ofThrowable(cause)
                .orElseGet(() ->
                        new Rejection(Reason.MARK_UNAVAILABLE, "the guard failed: " + cause + "; nothing was applied"));
    }

    /** Refuses a call that no handler has seen. */
    static void refuse(ServerCall<?, ?> call, Rejection rejection) {
        StatusRuntimeException failure = Rejections.toStatus(rejection.with(Rejection.APPLIED, "no"));
        call.close(failure.getStatus(), trailers(failure));
    }

    static Metadata trailers(StatusRuntimeException failure) {
        Metadata trailers = Status.trailersFromThrowable(failure);
        return trailers == null ? new Metadata() : trailers;
    }
}
