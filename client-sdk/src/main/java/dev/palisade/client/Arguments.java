package dev.palisade.client;

import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Texts;
import java.util.function.Supplier;

/**
 * Checks of the arguments of public methods. A value that can never be right is a bug of the caller and throws {@link
 * IllegalArgumentException}; the same value from a server would be a {@link RejectedException}.
 */
final class Arguments {
    private Arguments() {}

    static LockName lock(String name) {
        return valid(() -> new LockName(name));
    }

    static String text(String what, String value, int bytesMin, int bytesMax) {
        return valid(() -> Texts.checked(what, value, bytesMin, bytesMax));
    }

    static <T> T valid(Supplier<T> value) {
        try {
            return value.get();
        } catch (RejectedException e) {
            throw new IllegalArgumentException(e.rejection().message(), e);
        }
    }
}
