package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.guard.grpc.shop.ShopGrpc;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Authentic sequencers with damage, and noise, in the header. Seeds 1 to {@code palisade.fuzz.seeds} (2,000). */
class HeaderFuzzTest {
    private static final int SEEDS = Integer.getInteger("palisade.fuzz.seeds", 2_000);
    private static final int NOISE_MAX = 600;
    private static final Set<Reason> EXPECTED = EnumSet.of(Reason.SEQUENCER_INVALID, Reason.SEQUENCER_MISSING);

    private final Served shop = new Served();

    @AfterEach
    void close() {
        shop.close();
    }

    @Test
    void noMarkMovesForAHeaderThatIsNotAuthentic() {
        assertThat(shop.put(33, "held").end).isCompleted();
        var before = shop.guard.mark("items/1");
        assertThat(before).isPresent();
        byte[] newer = shop.grants.exclusive("items/1", 99).toBytes();
        for (int seed = 1; seed <= SEEDS; seed++) {
            byte[] header = damaged(newer, new Random(seed));
            if (Arrays.equals(header, newer)) {
                continue;
            }
            Answer answer = new Answer();
            ShopGrpc.newStub(shop.channel)
                    .withInterceptors(Served.header(header))
                    .put(Served.item("seed " + seed), answer);
            assertThat(EXPECTED)
                    .as("seed %d", seed)
                    .contains(Served.rejection(answer).reason());
            assertThat(shop.guard.mark("items/1")).as("seed %d", seed).isEqualTo(before);
        }
        assertThat(shop.floor.seen).containsExactly("put held");
        assertThat(shop.put(33, "still").end).as("its holder is served").isCompleted();
    }

    private static byte[] damaged(byte[] authentic, Random random) {
        if (random.nextInt(10) == 0) {
            byte[] noise = new byte[random.nextInt(NOISE_MAX)];
            random.nextBytes(noise);
            return noise;
        }
        int at = random.nextInt(authentic.length);
        byte[] bytes = random.nextInt(4) == 0
                ? Arrays.copyOf(authentic, random.nextInt(2 * authentic.length))
                : authentic.clone();
        if (at < bytes.length) {
            bytes[at] ^= (byte) (1 << random.nextInt(8));
        }
        return bytes;
    }
}
