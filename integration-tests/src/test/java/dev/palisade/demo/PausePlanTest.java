package dev.palisade.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PausePlanTest {
    private Optional<String> next = Optional.of("another");
    private final PausePlan plan = new PausePlan(16, 3, () -> next);

    /** A client of {@code process} that has read that {@code issued} coupons are gone. */
    private static JsonObject about(String process, int issued) {
        JsonObject about = new JsonObject();
        about.addProperty("client", process);
        about.addProperty("op", process + "-" + issued);
        about.addProperty(
                "content",
                IntStream.rangeClosed(0, issued).mapToObj(i -> "customer" + i).collect(Collectors.joining(" ")));
        return about;
    }

    @Test
    void eachProcessIsStoppedOnceAndOneMoreWhenHardlyACouponIsLeft() {
        List<String> stopped = new ArrayList<>();
        boolean ended = false;
        for (int issued = 0; issued < 16; issued++) {
            JsonObject about = about("c" + (issued % 3 + 1), issued);
            if (plan.choose(about)) {
                stopped.add(about.get("op").getAsString());
                ended = plan.ended(about);
            }
        }

        assertThat(stopped).containsExactly("c1-0", "c2-4", "c3-8", "c2-13");
        assertThat(ended).isTrue();
    }

    @Test
    void aProcessIsNotStoppedAgainBeforeAllOthersWere() {
        JsonObject first = about("c1", 0);
        assertThat(plan.choose(first)).isTrue();
        assertThat(plan.ended(first)).isFalse();

        assertThat(plan.choose(about("c1", 12))).isFalse();
        assertThat(plan.choose(about("c2", 12))).isTrue();
    }

    @Test
    void aProcessThatIsNextInTheQueueItselfIsNotStopped() {
        next = Optional.of("c1");
        assertThat(plan.choose(about("c1", 0))).isFalse();
        assertThat(plan.choose(about("c2", 0))).isTrue();
    }

    @Test
    void nobodyIsStoppedWhenNobodyWaits() {
        next = Optional.empty();
        assertThat(plan.choose(about("c1", 0))).isFalse();
    }

    @Test
    void whileOneIsStoppedAnotherIsOnlyBeforeTheLastCoupon() {
        JsonObject first = about("c1", 0);
        assertThat(plan.choose(first)).isTrue();
        assertThat(plan.choose(about("c2", 14))).isFalse();
        JsonObject last = about("c2", 15);
        assertThat(plan.choose(last)).isTrue();
        assertThat(plan.ended(first)).isFalse();
        assertThat(plan.ended(last)).isTrue();
    }

    @Test
    void afterTheLastNobodyIsStopped() {
        assertThat(plan.choose(about("c1", 15))).isTrue();
        assertThat(plan.ended(about("c1", 15))).isTrue();
        assertThat(plan.choose(about("c2", 15))).isFalse();
        assertThat(plan.choose(about("c3", 9))).isFalse();
    }
}
