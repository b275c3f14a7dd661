package dev.palisade.seeded.ownership;

import dev.palisade.contract.grpc.Rejections;

/** Seeded violation. */
public final class KnowsGrpcContract {
    static String domain() {
        return Rejections.DOMAIN.concat(
                Rejections.code(dev.palisade.contract.Reason.NOT_HOLDER).name());
    }
}
