package dev.palisade.scenario;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;

/**
 * Tag of a class that checks something within a time, and waits for most of its own. Such classes run after all others, two at a
 * time: the second execution of Failsafe in this module's {@code pom.xml}. A class that needs both processors for itself is
 * {@link org.junit.jupiter.api.parallel.Isolated} instead.
 */
@Tag("timing-sensitive")
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface TimingSensitive {
    /** Why others would disturb it. */
    String value();
}
