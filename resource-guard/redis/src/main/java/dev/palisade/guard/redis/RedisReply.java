package dev.palisade.guard.redis;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One reply of Redis, as scripts get it: an integer, a string of bytes, a list of replies, or nil. Status replies such as {@code
 * OK} are strings; a hash is a list of fields and values in turn; floating point numbers are strings. Immutable.
 */
public final class RedisReply {
    private final @Nullable Object value;

    private RedisReply(@Nullable Object value) {
        this.value = value;
    }

    static List<RedisReply> listOf(List<?> values) {
        return values.stream().map(RedisReply::new).collect(Collectors.toUnmodifiableList());
    }

    /** Whether Redis replied nil: the key, the field or the member is not there. */
    public boolean isNil() {
        return value == null;
    }

    /** @throws IllegalStateException when the reply is no integer */
    public long number() {
        if (value instanceof Long number) {
            return number;
        }
        throw isNot("an integer");
    }

    /**
     * The string as UTF-8. Bytes that are not UTF-8 are replaced: use {@link #bytes} for those.
     *
     * @throws IllegalStateException when the reply is no string
     */
    public String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** @throws IllegalStateException when the reply is no string */
    public byte[] bytes() {
        if (value instanceof byte[] bytes) {
            return bytes.clone();
        }
        if (value instanceof String status) {
            return FenceConnection.bytes(status);
        }
        throw isNot("a string");
    }

    /** @throws IllegalStateException when the reply is no list */
    public List<RedisReply> list() {
        if (value instanceof List<?> values) {
            return listOf(values);
        }
        throw isNot("a list");
    }

    /** For people: the reply as text. */
    @Override
    public String toString() {
        return value instanceof List<?> ? list().toString() : value == null ? "nil" : FenceConnection.text(value);
    }

    private IllegalStateException isNot(String wanted) {
        return new IllegalStateException("the reply is not " + wanted + ": " + this);
    }
}
