package dev.palisade.demo;

import static dev.palisade.scenario.Observed.is;
import static dev.palisade.scenario.Observed.number;
import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.client.LockDescription.Waiter;
import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.LockUnavailableException;
import dev.palisade.demo.Sale.LateWrite;
import dev.palisade.picture.ShortTokens;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Customers;
import dev.palisade.scenario.Customers.Told;
import dev.palisade.scenario.Gatekeeper;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.Observed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A few coupons and many customers, each of whom takes the lock, reads the list, and adds itself. Holders are stopped between
 * read and write and continued when a customer of another process was seen to have taken a coupon: with the guard off, each
 * such write takes that coupon off the list again, so that it is issued once more. No timer decides who is first.
 */
final class CouponSale {
    private static final String LOCK = "coupons/summer";
    private static final long TTL_MILLIS = 1_000;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Timeline timeline;
    private final int coupons;
    private final int customers;
    private final int processes;
    private final Gatekeeper gatekeeper = new Gatekeeper();
    private final ShortTokens tokens;
    private final List<LateWrite> lateWrites = new ArrayList<>();

    CouponSale(Timeline timeline, int coupons, int customers, int processes) {
        this.timeline = timeline;
        this.coupons = coupons;
        this.customers = customers;
        this.processes = processes;
        this.tokens = new ShortTokens(2 * customers);
    }

    Sale run(Installation installation, boolean guard) {
        Service server = installation.server();
        timeline.say("server", "palisade server on " + server.address() + ", " + installation.storeName());
        Service objects = installation.objects("--guard", guard ? "enforce" : "off");
        timeline.say(
                "objects",
                "palisade objects on " + objects.address() + (guard ? ", every call checked" : ", GUARD OFF"));
        try {
            String listed = sell(installation, server, objects);
            server.child().terminate();
            objects.child().terminate();
            return judge(installation.appliedLog(), listed);
        } finally {
            objects.child().close();
            server.child().close();
        }
    }

    /** Returns the list at the end. */
    private String sell(Installation installation, Service server, Service objects) {
        try (PalisadeClient onlooker = PalisadeClient.connect(server.address())) {
            PausePlan plan = new PausePlan(coupons, processes, () -> next(onlooker));
            gatekeeper.hold(plan::choose);
            List<Child> clients = IntStream.range(0, processes)
                    .parallel()
                    .mapToObj(i -> start(installation, server, objects, i))
                    .toList();
            return sell(clients, plan);
        } finally {
            gatekeeper.clients().values().forEach(Child::close);
        }
    }

    private static Optional<String> next(PalisadeClient onlooker) {
        try {
            return onlooker.describe(LOCK).waiters().stream().map(Waiter::owner).findFirst();
        } catch (LockUnavailableException e) {
            return Optional.empty(); // Nobody could say.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    private Child start(Installation installation, Service server, Service objects, int index) {
        String name = "c" + (index + 1);
        int share = customers / processes + (index < customers % processes ? 1 : 0);
        Child client = installation.customers(
                name,
                server,
                objects,
                line -> gatekeeper.heard(name, line),
                LOCK,
                Integer.toString(coupons),
                Integer.toString(share),
                Long.toString(TTL_MILLIS));
        gatekeeper.admit(client);
        return client;
    }

    private String sell(List<Child> clients, PausePlan plan) {
        timeline.say(
                "sale",
                coupons + " coupons, " + customers + " customers in " + processes
                        + " processes; each takes the lock, reads the list, adds itself");
        for (int i = 0; i < customers; i += processes) {
            ask(clients.subList(0, Math.min(processes, customers - i)), i / processes + 1);
        }
        JsonObject about;
        do {
            about = gatekeeper.awaitHeld();
            pause(about);
        } while (!plan.ended(about));
        clients.forEach(client -> client.await(line -> line.equals("done"), PATIENCE));
        timeline.say("sale", "every customer was told something");
        clients.get(0).send("look");
        return text(
                gatekeeper.observed().await(0, "the list at the end", PATIENCE, event -> is(event, "looked")),
                "content");
    }

    /** One customer of each process, and the next ones after them: so the queue is mixed, and a stopped process not alone in it. */
    private void ask(List<Child> clients, int number) {
        Observed observed = gatekeeper.observed();
        int from = observed.size();
        clients.forEach(client -> client.send("ask " + client.name() + "." + number));
        for (Child client : clients) {
            String customer = client.name() + "." + number;
            observed.await(
                    from,
                    customer + " asking for the lock",
                    PATIENCE,
                    event -> is(event, "asking") && text(event, "customer").equals(customer));
        }
    }

    private void pause(JsonObject about) {
        Child process = gatekeeper.client(about);
        process.pause();
        gatekeeper.go(about);
        timeline.say(
                process.name(),
                "token " + tokens.of(number(about, "token")) + ", has read: " + (coupons - PausePlan.issued(about))
                        + " left; is stopped (SIGSTOP) right before its write");
        JsonObject next = gatekeeper.awaitSuccessor(about);
        timeline.say(
                text(next, "client"), "token " + tokens.of(number(next, "token")) + ", has taken a coupon meanwhile");
        process.resume();
        JsonObject answer = gatekeeper.awaitAnswer(about);
        String reason = answer.has("reason") ? text(answer, "reason") : "";
        LateWrite late = new LateWrite(process.name(), text(answer, "event"), reason);
        lateWrites.add(late);
        timeline.say(
                process.name(),
                "is continued and sends its write: "
                        + (late.refused()
                                ? "refused, TOKEN_STALE, the mark is " + tokens.of(text(answer, "mark"))
                                : (late.answer() + " " + reason).strip()));
    }

    private Sale judge(List<String> log, String listed) {
        List<JsonObject> events = gatekeeper.observed().all();
        Map<String, Told> told = new HashMap<>();
        for (JsonObject event : events) {
            if (is(event, "ended")) {
                told.put(text(event, "customer"), Told.valueOf(text(event, "told")));
            }
        }
        long stale = events.stream()
                .filter(event -> event.has("reason") && text(event, "reason").equals("TOKEN_STALE"))
                .count();
        return new Sale(
                coupons, customers, Sale.issued(log, LOCK, events), Customers.listed(listed), told, lateWrites, stale);
    }
}
