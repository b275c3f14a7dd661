package dev.palisade.contract;

import java.security.CodeSource;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Linkage errors of gRPC or protobuf-java, as exceptions that say what to change. An application that manages other versions of these
 * libraries than Palisade can run with meets them when a class is loaded; a retry never helps. Safe for use by many threads.
 */
public final class LinkageErrors {
    /** No chain of causes is longer; one that ends in itself is left here. */
    private static final int CAUSES_MAX = 32;

    /** One class of each library. */
    private static final List<String> OF_LIBRARIES = List.of("com.google.protobuf.Message", "io.grpc.Status");

    private LinkageErrors() {}

    /** The linkage error that {@code failure} is or was caused by; empty when it has another cause. */
    public static Optional<LinkageError> in(@Nullable Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < CAUSES_MAX; i++) {
            if (cause instanceof LinkageError found) {
                return Optional.of(found);
            }
            cause = cause.getCause();
        }
        return Optional.empty();
    }

    /** The exception for callers, in one line: what cannot be linked, with which libraries, and what to do. */
    public static IllegalStateException exception(LinkageError error) {
        return new IllegalStateException(
                "Palisade cannot run with the libraries on the class path: " + words(error) + " (found " + libraries()
                        + "); use versions of grpc-java and protobuf-java that docs/reference/compatibility.md lists",
                error);
    }

    private static String words(LinkageError error) {
        // The first use of a class that cannot be initialised has its reason in the cause, with no message of its own.
        Throwable told = error;
        for (int i = 0; told.getCause() != null && i < CAUSES_MAX; i++) {
            told = told.getCause();
        }
        String name = told.getClass().getSimpleName();
        return told.getMessage() == null
                ? name
                : name + ": " + told.getMessage().lines().findFirst().orElse("");
    }

    private static String libraries() {
        return OF_LIBRARIES.stream().map(LinkageErrors::jar).collect(Collectors.joining(", "));
    }

    /** The file that a class comes from: its name has the version. */
    private static String jar(String className) {
        try {
            Class<?> found = Class.forName(className, false, LinkageErrors.class.getClassLoader());
            CodeSource source = found.getProtectionDomain().getCodeSource();
            String place =
                    source == null ? "" : String.valueOf(source.getLocation()).replaceAll("[!/]+$", "");
            return place.isEmpty() ? className : place.substring(place.lastIndexOf('/') + 1);
        } catch (ClassNotFoundException | LinkageError | SecurityException e) {
            return "no " + className;
        }
    }
}
