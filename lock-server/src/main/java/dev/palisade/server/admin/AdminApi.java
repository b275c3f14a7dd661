package dev.palisade.server.admin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.contract.Rejection;
import dev.palisade.proto.v1.DescribeRequest;
import dev.palisade.proto.v1.ExplainRequest;
import dev.palisade.proto.v1.ForceReleaseRequest;
import dev.palisade.proto.v1.HistoryRequest;
import dev.palisade.proto.v1.ListRequest;
import dev.palisade.proto.v1.RequestReleaseRequest;
import dev.palisade.proto.v1.SessionsRequest;
import dev.palisade.proto.v1.StoreRequest;
import dev.palisade.server.rpc.InProcessClient;
import dev.palisade.server.rpc.InProcessLocks;
import dev.palisade.server.rpc.LockOrder;
import dev.palisade.server.rpc.LocksRpc;
import dev.palisade.server.rpc.SortedLocks;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Router of the admin page and of the JSON API behind it, which {@code openapi.yaml} describes. Each request of the API is made as
 * one or more calls of the lock service, so what a client may see and do is decided there. Never blocks. Thread-safe.
 */
public final class AdminApi {
    private static final Logger LOG = LoggerFactory.getLogger(AdminApi.class);

    static final String ROOT = "/api/v1/";

    private static final String CALLER = ROOT + "caller";

    /** Locks on one page of a listing. */
    static final int PAGE_LOCKS = 50;

    private static final int PAGE_MAX = 1_000_000;
    private static final int SESSIONS_MAX = 200;

    private final InProcessLocks locks;
    private final LongSupplier epochMillis;
    private final AdminAssets assets = new AdminAssets();

    /** @param epochMillis the server's wall clock, to which a page can relate times of the history */
    public AdminApi(InProcessLocks locks, LongSupplier epochMillis) {
        this.locks = locks;
        this.epochMillis = epochMillis;
    }

    /** Why a request is refused for its Host header; empty if it is not. */
    public static Optional<AdminResponse> refusedHost(AdminRequest request) {
        return OriginCheck.host(request);
    }

    /** Whether the path is one of the page or the API. */
    public boolean serves(String path) {
        return path.startsWith(ROOT) || assets.has(path);
    }

    /**
     * Whether the client wants the resource sent again each time that it changes. What is open to all is sent once: followed, it
     * would take the places of clients with rights.
     */
    public boolean isFollowed(AdminRequest request) {
        String path = request.path();
        return request.wantsEvents() && path.startsWith(ROOT) && !path.equals(CALLER) && !assets.has(path);
    }

    /** The response; never fails. It may come on a thread of the lock service. */
    public CompletionStage<AdminResponse> respond(AdminRequest request) {
        try {
            return OriginCheck.host(request)
                    .map(AdminApi::done)
                    .orElseGet(() -> assets.has(request.path()) ? asset(request) : call(request))
                    .exceptionally(AdminApi::failed);
        } catch (RuntimeException e) {
            return done(failed(e));
        }
    }

    private static AdminResponse failed(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof RejectedException rejected) {
            return AdminProblem.of(rejected.rejection());
        }
        LOG.error("a request to the admin port failed", cause);
        return AdminProblem.of(new Rejection(Reason.OUTCOME_UNKNOWN, "the request failed; see the server's log"));
    }

    private CompletionStage<AdminResponse> asset(AdminRequest request) {
        return isRead(request) ? done(assets.get(request.path())) : notAllowed("GET, HEAD");
    }

    private CompletionStage<AdminResponse> call(AdminRequest request) {
        AdminResponse refused = OriginCheck.origin(request).orElse(null);
        if (refused != null) {
            return done(refused);
        }
        List<String> authorization = request.header("authorization");
        List<String> presented = authorization.isEmpty() ? null : authorization;
        if (request.path().equals(CALLER) && locks.needsIdentity(presented, request.session())) {
            // To open the page is no attempt that operators should be warned of.
            return read(request, () -> done(AdminResponse.json(caller("", "", true, false, false))));
        }
        InProcessClient client = locks.client(presented, request.session(), request.peer());
        List<String> path = UrlDecoding.segments(request.path().substring(ROOT.length() - 1));
        String resource = path.get(0);
        if (path.size() == 1) {
            return switch (resource) {
                case "caller" -> read(request, () -> caller(client, request));
                case "locks" -> read(request, () -> list(client, request));
                case "sessions" -> read(request, () -> sessions(client, request));
                case "store" -> read(request, () -> store(client, request));
                default -> notFound();
            };
        }
        if (!resource.equals("locks")) {
            return notFound();
        }
        String lock = path.get(1);
        if (path.size() == 2) {
            return read(request, () -> lock(client, request, lock));
        }
        if (path.size() > 3) {
            return notFound();
        }
        return switch (path.get(2)) {
            case "explain" -> read(request, () -> explain(client, request, lock));
            case "request-release" -> write(request, () -> answer(ReleaseCalls.request(client, request.body(), lock)));
            case "force-release" -> write(request, () -> answer(ReleaseCalls.force(client, request.body(), lock)));
            default -> notFound();
        };
    }

    private interface Operation {
        CompletionStage<AdminResponse> run();
    }

    private static boolean isRead(AdminRequest request) {
        return request.method().equals("GET") || request.method().equals("HEAD");
    }

    private static CompletionStage<AdminResponse> read(AdminRequest request, Operation operation) {
        return isRead(request) ? operation.run() : notAllowed("GET, HEAD");
    }

    private static CompletionStage<AdminResponse> write(AdminRequest request, Operation operation) {
        if (!request.method().equals("POST")) {
            return notAllowed("POST");
        }
        return OriginCheck.json(request).map(AdminApi::done).orElseGet(operation::run);
    }

    private static CompletionStage<AdminResponse> caller(InProcessClient client, AdminRequest request) {
        parameters(request);
        return done(AdminResponse.json(caller(
                client.principal(),
                client.issuer(),
                false,
                client.allows(ListRequest.getDefaultInstance()),
                client.allows(StoreRequest.getDefaultInstance()))));
    }

    private static String caller(
            String principal, String issuer, boolean mustSignIn, boolean mayList, boolean mayOperate) {
        JsonObject caller = new JsonObject();
        caller.addProperty("principal", principal);
        caller.addProperty("issuer", issuer);
        caller.addProperty("mustSignIn", mustSignIn);
        caller.addProperty("mayList", mayList);
        caller.addProperty("mayOperate", mayOperate);
        return caller.toString();
    }

    private static CompletionStage<AdminResponse> list(InProcessClient client, AdminRequest request) {
        Map<String, String> parameters = parameters(request, "prefix", "sort", "page");
        int page = number(parameters.getOrDefault("page", "1"));
        LockOrder order = order(parameters.getOrDefault("sort", "name"));
        return client.list(parameters.getOrDefault("prefix", ""), order, page, PAGE_LOCKS)
                .thenApply(found -> AdminResponse.json(listing(found, page).toString()));
    }

    private static JsonObject listing(SortedLocks found, int page) {
        JsonArray locks = new JsonArray();
        found.locks().forEach(lock -> locks.add(ProtoJson.tree(lock)));
        JsonObject listing = new JsonObject();
        listing.add("locks", locks);
        listing.addProperty("locksTotal", found.locksTotal());
        listing.addProperty("page", page);
        listing.addProperty("pages", Math.max(1, (found.locksTotal() + PAGE_LOCKS - 1) / PAGE_LOCKS));
        listing.addProperty("complete", found.isComplete());
        return listing;
    }

    private CompletionStage<AdminResponse> lock(InProcessClient client, AdminRequest request, String lock) {
        parameters(request);
        JsonObject found = new JsonObject();
        return client.call(
                        LocksRpc::describe,
                        DescribeRequest.newBuilder().setLock(lock).build())
                .thenCompose(now -> {
                    found.add("now", ProtoJson.tree(now));
                    return client.call(
                            LocksRpc::history,
                            HistoryRequest.newBuilder().setLock(lock).build());
                })
                .thenApply(history -> {
                    found.add("history", ProtoJson.tree(history).get("entries"));
                    found.addProperty("epochMillis", epochMillis.getAsLong());
                    found.addProperty(
                            "mayRequestRelease",
                            client.allows(RequestReleaseRequest.newBuilder()
                                    .setLock(lock)
                                    .build()));
                    found.addProperty(
                            "mayForceRelease",
                            client.allows(ForceReleaseRequest.newBuilder()
                                    .setLock(lock)
                                    .build()));
                    return AdminResponse.json(found.toString());
                });
    }

    private static CompletionStage<AdminResponse> explain(InProcessClient client, AdminRequest request, String lock) {
        String token = parameters(request, "token").getOrDefault("token", "0");
        if (!token.matches("[0-9]{1,16}")) {
            throw RejectedException.malformed("token is not a number");
        }
        return answer(client.call(
                LocksRpc::explain,
                ExplainRequest.newBuilder()
                        .setLock(lock)
                        .setToken(Long.parseLong(token))
                        .build()));
    }

    private static CompletionStage<AdminResponse> sessions(InProcessClient client, AdminRequest request) {
        Map<String, String> parameters = parameters(request, "pageToken");
        return answer(client.call(
                LocksRpc::sessions,
                SessionsRequest.newBuilder()
                        .setPageSize(SESSIONS_MAX)
                        .setPageToken(parameters.getOrDefault("pageToken", ""))
                        .build()));
    }

    private static CompletionStage<AdminResponse> store(InProcessClient client, AdminRequest request) {
        parameters(request);
        return answer(client.call(LocksRpc::store, StoreRequest.getDefaultInstance()));
    }

    private static Map<String, String> parameters(AdminRequest request, String... known) {
        return UrlDecoding.parameters(request.query(), List.of(known));
    }

    private static int number(String text) {
        if (text.matches("[1-9][0-9]{0,6}") && Integer.parseInt(text) <= PAGE_MAX) {
            return Integer.parseInt(text);
        }
        throw RejectedException.malformed("page is not a number from 1 to " + PAGE_MAX);
    }

    private static LockOrder order(String text) {
        for (LockOrder order : LockOrder.values()) {
            if (order.word().equals(text)) {
                return order;
            }
        }
        throw RejectedException.malformed("sort is not one of name, waiters, held");
    }

    private static CompletionStage<AdminResponse> answer(CompletionStage<? extends Message> reply) {
        Function<Message, AdminResponse> encoded = message -> AdminResponse.json(ProtoJson.text(message));
        return reply.thenApply(encoded);
    }

    private static CompletionStage<AdminResponse> done(AdminResponse response) {
        return CompletableFuture.completedFuture(response);
    }

    private static CompletionStage<AdminResponse> notFound() {
        return done(AdminProblem.malformed(404, "the API has no such path; /api/v1/openapi.yaml lists all"));
    }

    private static CompletionStage<AdminResponse> notAllowed(String methods) {
        return done(
                AdminProblem.malformed(405, "this path is only for " + methods).with("allow", methods));
    }
}
