package dev.palisade.contract;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PalisadeExceptionTest {
    private static final LockName LOCK = new LockName("orders/42");
    private static final Rejection REJECTION =
            new Rejection(Reason.LIMIT_EXCEEDED, "too many", Map.of(Rejection.LIMIT, "locks"));
    private static final HolderInfo HOLDER = new HolderInfo(
            "a",
            "sale",
            new FencingToken(7),
            Mode.EXCLUSIVE,
            Duration.ofSeconds(3),
            Duration.ofSeconds(5),
            "0011aabb",
            "");

    static Stream<PalisadeException> all() {
        return Stream.of(
                new RejectedException(REJECTION),
                new LockUnavailableException(LOCK, REJECTION),
                LockNotAcquiredException.busy(LOCK, Optional.of(HOLDER), Duration.ofSeconds(5), Duration.ZERO, 2),
                LockNotAcquiredException.timedOut(LOCK),
                LeaseLostException.notHeld(LOCK, new FencingToken(7), LostReason.EXPIRED),
                LeaseLostException.beforeWorkEnded(LOCK, new FencingToken(7), LostReason.CLIENT_CLOSED));
    }

    @ParameterizedTest
    @MethodSource("all")
    void carriesTheSameAfterSerialization(PalisadeException before) throws Exception {
        PalisadeException after = copy(before);
        assertThat(after).hasMessage(before.getMessage());
        assertThat(after)
                .usingRecursiveComparison()
                .ignoringFields("stackTrace")
                .isEqualTo(before);
    }

    @Test
    void everyKindIsFinalAndTried() {
        Class<?>[] kinds = PalisadeException.class.getPermittedSubclasses();
        assertThat(kinds)
                .allSatisfy(kind ->
                        assertThat(Modifier.isFinal(kind.getModifiers())).isTrue());
        assertThat(all().map(Object::getClass).distinct()).containsExactlyInAnyOrderElementsOf(Arrays.asList(kinds));
    }

    @Test
    void noFieldIsLeftOutOfSerialization() {
        assertThat(Arrays.stream(PalisadeException.class.getPermittedSubclasses())
                        .flatMap(kind -> Arrays.stream(kind.getDeclaredFields())))
                .noneMatch(field -> Modifier.isTransient(field.getModifiers()));
    }

    @Test
    void aBusyLockNamesItsHolder() {
        LockNotAcquiredException busy =
                LockNotAcquiredException.busy(LOCK, Optional.of(HOLDER), Duration.ofSeconds(5), Duration.ZERO, 2);
        assertThat(busy.waited()).isFalse();
        assertThat(busy.lock()).isEqualTo(LOCK);
        assertThat(busy.holder()).contains(HOLDER);
        assertThat(busy).hasMessageContaining("held by a (token 7)").hasMessageContaining("2 waiting");
    }

    @Test
    void aTimeoutNamesNobody() {
        LockNotAcquiredException late = LockNotAcquiredException.timedOut(LOCK);
        assertThat(late.waited()).isTrue();
        assertThat(late.holder()).isEmpty();
    }

    private static PalisadeException copy(PalisadeException exception) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(exception);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (PalisadeException) in.readObject();
        }
    }
}
