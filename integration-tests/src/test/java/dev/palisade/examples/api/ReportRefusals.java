package dev.palisade.examples.api;

import dev.palisade.guard.FencedJdbc;
import dev.palisade.guard.RefusalReports;
import dev.palisade.guard.grpc.GrpcLockService;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;

final class ReportRefusals {
    private ReportRefusals() {}

    static FencedJdbc reporting(FencedJdbc fence, ChannelCredentials credentials) {
        // snippet
        var locks = Grpc.newChannelBuilder("locks-1:7600", credentials).build();
        RefusalReports reports = RefusalReports.to(GrpcLockService.at(locks, "palisade"), "orders-db at host-7");
        FencedJdbc fenced = fence.withReports(reports);
        // end
        return fenced;
    }
}
