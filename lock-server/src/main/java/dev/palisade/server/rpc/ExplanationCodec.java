package dev.palisade.server.rpc;

import dev.palisade.contract.FencingToken;
import dev.palisade.contract.LockName;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.SignedSequencer;
import dev.palisade.contract.Texts;
import dev.palisade.proto.v1.ExplainReply;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ExplainedEvent;
import dev.palisade.proto.v1.ReportRefusalsReply;
import dev.palisade.proto.v1.ReportRefusalsRequest;
import dev.palisade.proto.v1.ReportedRefusal;
import dev.palisade.server.core.explain.GrantExplanation;
import dev.palisade.server.core.explain.RefusalReport;
import dev.palisade.server.engine.LockEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;

/** Codec of explanations, and of the reports of guards that they are made of. A report is checked whole before any of it is kept. */
record ExplanationCodec(LockEngine engine) {
    private static final int REFUSALS_MAX = 100;
    private static final int GUARD_BYTES_MAX = 256;
    private static final int RESOURCE_BYTES_MAX = 512;
    private static final int REASON_BYTES_MAX = 64;
    private static final Pattern REASON = Pattern.compile("[A-Z_]+");
    private static final Pattern NOT_OF_NAMES = Pattern.compile("[^A-Za-z0-9 ._:/@+,()\\[\\]-]");
    private static final long AGE_MILLIS_MAX = 86_400_000;

    CompletionStage<GrantExplanation> explain(ExplainRequest request) {
        LockName lock = ProtoCodec.lock(request.getLock());
        long token = ProtoCodec.within("token", request.getToken(), 0, FencingToken.MAX);
        if (request.getSequencer().isEmpty()) {
            return engine.explain(lock, token);
        } else if (token != 0) {
            throw RejectedException.malformed("token and sequencer are both set; leave one out");
        }
        return engine.explain(lock, SignedSequencer.of(request.getSequencer().toByteArray()));
    }

    ReportRefusalsReply report(ReportRefusalsRequest request, Caller caller) {
        if (request.getRefusalsCount() > REFUSALS_MAX) {
            throw RejectedException.malformed(
                    "refusals has " + request.getRefusalsCount() + " entries; use at most " + REFUSALS_MAX);
        }
        // Of the guard's own words, and repeated in advice: nothing that reads as a sentence of this server's.
        String guard = NOT_OF_NAMES
                .matcher(Texts.checked("guard", request.getGuard(), 1, GUARD_BYTES_MAX))
                .replaceAll("?");
        long now = engine.nowMillis();
        List<RefusalReport> reports = new ArrayList<>();
        for (ReportedRefusal refusal : request.getRefusalsList()) {
            RefusalReport report = report(guard, caller.principal(), refusal, now);
            if (caller.mayGuard(report.lock())) {
                reports.add(report);
            }
        }
        reports.forEach(engine.refusals()::add);
        return ReportRefusalsReply.newBuilder().setTaken(reports.size()).build();
    }

    private static RefusalReport report(String guard, String principal, ReportedRefusal refusal, long now) {
        long last = age("last_millis_ago", refusal.getLastMillisAgo());
        long first = age("first_millis_ago", refusal.getFirstMillisAgo());
        return new RefusalReport(
                guard,
                principal,
                ProtoCodec.lock(refusal.getLock()),
                Texts.checked("resource", refusal.getResource(), 1, RESOURCE_BYTES_MAX),
                reason(refusal.getReason()),
                ProtoCodec.within("presented_token", refusal.getPresentedToken(), 1, FencingToken.MAX),
                ProtoCodec.within("mark_token", refusal.getMarkToken(), 0, FencingToken.MAX),
                refusal.hasMarkRaisedMillisAgo()
                        ? OptionalLong.of(now - age("mark_raised_millis_ago", refusal.getMarkRaisedMillisAgo()))
                        : OptionalLong.empty(),
                now - Math.max(first, last),
                now - last,
                Math.max(1, ProtoCodec.within("count", refusal.getCount(), 0, Long.MAX_VALUE)));
    }

    private static String reason(String reason) {
        Texts.checked("reason", reason, 1, REASON_BYTES_MAX);
        if (!REASON.matcher(reason).matches()) {
            throw RejectedException.malformed("reason is no word of docs/reference/reasons.md, such as TOKEN_STALE");
        }
        return reason;
    }

    private static long age(String field, long millis) {
        return ProtoCodec.within(field, millis, 0, AGE_MILLIS_MAX);
    }

    static ExplainReply reply(GrantExplanation explanation) {
        ExplainReply.Builder reply = ExplainReply.newBuilder()
                .setLock(explanation.lock().value())
                .setToken(explanation.token())
                .setAtEpochMillis(explanation.atMillis())
                .setState(explanation.state().name())
                .setSummary(explanation.summary())
                .addAllUnknown(explanation.unknown())
                .addAllAdvice(explanation.advice());
        for (GrantExplanation.Event event : explanation.events()) {
            ExplainedEvent.Builder told = ExplainedEvent.newBuilder()
                    .setAtEpochMillis(event.atMillis())
                    .setWhat(event.what())
                    .setToken(event.token())
                    .setText(event.text());
            event.refusal().ifPresent(refusal -> told.setRefusal(reported(refusal, explanation.atMillis())));
            reply.addEvents(told);
        }
        return reply.build();
    }

    private static ReportedRefusal reported(RefusalReport refusal, long now) {
        ReportedRefusal.Builder reported = ReportedRefusal.newBuilder()
                .setLock(refusal.lock().value())
                .setResource(refusal.resource())
                .setReason(refusal.reason())
                .setPresentedToken(refusal.presentedToken())
                .setMarkToken(refusal.markToken())
                .setFirstMillisAgo(Math.max(0, now - refusal.firstAtMillis()))
                .setLastMillisAgo(Math.max(0, now - refusal.lastAtMillis()))
                .setCount(refusal.count())
                .setGuard(refusal.guard())
                .setPrincipal(refusal.principal());
        refusal.markRaisedAtMillis().ifPresent(at -> reported.setMarkRaisedMillisAgo(Math.max(0, now - at)));
        return reported.build();
    }
}
