package dev.palisade.guard.grpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.MethodOptions;
import dev.palisade.proto.v1.GuardOuterClass;
import org.junit.jupiter.api.Test;

/** The number of {@code (palisade.v1.fenced)}, which stands in users' compiled descriptors: decision 25. */
class OptionNumberTest {
    @Test
    void fencedHasANumberThatNobodyElseUses() {
        int number = GuardOuterClass.fenced.getNumber();
        assertThat(number >= 50_000 && number <= 99_999)
                .as("%s is of the range inside organisations", number)
                .isFalse();
        assertThat(number)
                .as("as decided; a change breaks every compiled service")
                .isEqualTo(486_562_323);
    }

    @Test
    void fencedIsAnOptionOfMethods() {
        assertThat(GuardOuterClass.fenced.getDescriptor().getContainingType()).isEqualTo(MethodOptions.getDescriptor());
    }
}
