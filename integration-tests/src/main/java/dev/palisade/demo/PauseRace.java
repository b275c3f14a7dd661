package dev.palisade.demo;

import dev.palisade.client.PalisadeClient;
import dev.palisade.contract.Reason;
import dev.palisade.contract.RejectedException;
import dev.palisade.picture.ShortTokens;
import dev.palisade.scenario.Child;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.Installation.Service;
import dev.palisade.scenario.PlainHttpService;
import dev.palisade.scenario.ScenarioFailed;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The race every lock with a lease has. A holds the lock and is paused right before its write; its lease ends; B gets the
 * lock, reads and writes; A goes on and sends its write. No timer decides who is first: A is seen stopped before B starts
 * and is continued after B has finished.
 */
final class PauseRace {
    private static final String LOCK = "stock/42";
    private static final long TTL_MILLIS = 2_000;
    private static final Pattern REFUSED =
            Pattern.compile("refused TOKEN_STALE presented=(\\d+) mark=(\\d+) applied=no .*");

    private final Timeline timeline;
    private String judge = "objects";
    private final Scenes scenes = new Scenes();
    private final ShortTokens tokens = new ShortTokens(4);

    PauseRace(Timeline timeline) {
        this.timeline = timeline;
    }

    /** What there is to draw, once it has run. */
    Scenes scenes() {
        return scenes;
    }

    /** How the race writes tokens for people. */
    ShortTokens tokens() {
        return tokens;
    }

    /** What came of A's late write. */
    record Outcome(String tokenA, String tokenB, String answerToA, String finalText) {
        /** A was refused, by name of both tokens, and the object is B's. */
        boolean guarded() {
            Matcher refused = REFUSED.matcher(answerToA);
            return refused.matches()
                    && refused.group(1).equals(tokenA)
                    && refused.group(2).equals(tokenB)
                    && finalText.equals("39");
        }

        /** A's write was applied over B's. */
        boolean overwritten() {
            return answerToA.startsWith("written ") && finalText.equals("38");
        }

        /** What is wrong, in words that name both tokens and both values; empty: nothing. */
        List<String> violations() {
            return overwritten()
                    ? List.of("Lost update: A's late write of 38 (token " + tokenA
                            + ") was applied over B's newer 39 (token " + tokenB + ").")
                    : List.of();
        }
    }

    /** @param options more options for {@code palisade objects} */
    Outcome run(Installation installation, boolean guard, String... options) {
        Service server = installation.server();
        timeline.say(
                "server",
                "palisade server on " + server.address() + ", " + installation.storeName()
                        + (installation.isSecured() ? ", TLS, client certificates, policy" : ""));
        List<String> all = new ArrayList<>(List.of(options));
        all.addAll(List.of("--guard", guard ? "enforce" : "off"));
        Service objects = installation.objects(all.toArray(new String[0]));
        timeline.say(
                "objects",
                "palisade objects on " + objects.address() + (guard ? ", every write checked" : ", GUARD OFF"));
        try (Child a = installation.actor("A", server, objects);
                Child b = installation.actor("B", server, objects)) {
            if (installation.isSecured()) {
                tryWithoutRight(installation, server);
            }
            scenes.add("run", "run", "guard", guard ? "on" : "off");
            return race(a, b);
        } finally {
            objects.child().close();
            server.child().close();
        }
    }

    /** The same race through {@code palisade gateway}, in front of a service that knows nothing of locks. */
    Outcome runThroughGateway(Installation installation, boolean guard) {
        judge = "gateway";
        Service server = installation.server();
        timeline.say("server", "palisade server on " + server.address() + ", " + installation.storeName());
        Service plain = installation.service("service", PlainHttpService.class, List.of(), line -> {});
        timeline.say("service", "an HTTP service on " + plain.address() + " that knows nothing of locks");
        Service gateway = installation.gateway(server, plain.address(), guard);
        timeline.say(
                "gateway",
                "palisade gateway on " + gateway.address() + (guard ? ", every request checked" : ", GUARD OFF"));
        Service both = new Service(gateway.child(), "http://" + gateway.address() + ",http://" + plain.address());
        try (Child a = installation.actor("A", server, both);
                Child b = installation.actor("B", server, both)) {
            return race(a, b);
        } finally {
            gateway.child().close();
            plain.child().close();
            server.child().close();
        }
    }

    /** The policy allows A the locks below {@code stock/}. */
    private void tryWithoutRight(Installation installation, Service server) {
        try (PalisadeClient client = PalisadeClient.builder()
                .servers(server.address())
                .credentials(installation.credentials("A"))
                .build()) {
            client.describe("prices/42");
            throw new ScenarioFailed("A may describe prices/42, although no line of the policy allows it");
        } catch (RejectedException e) {
            timeline.say("server", "refuses A the lock prices/42, of which the policy has no line: " + e.reason());
            if (e.reason() != Reason.PERMISSION_DENIED) {
                throw new ScenarioFailed("A was refused for another reason: " + e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScenarioFailed("interrupted");
        }
    }

    private Outcome race(Child a, Child b) {
        String tokenA = acquire(a, 0);
        expect(a, "write " + LOCK + " 40", "written ");
        scenes.add("A", "acknowledged", "lock", LOCK, "token", tokenA, "value", "40");
        timeline.say("A", "writes 40 items in stock");
        believes(a, tokenA);
        expect(a, "prepare " + LOCK + " 38", "prepared");
        timeline.say("A", "sold 2, has computed 38 and is about to write it ...");
        a.pause();
        scenes.add("run", "fault-began", "fault", "PAUSE_CLIENTS", "who", "A", "how", "right before its write");
        a.send("go");
        timeline.say("A", "... and is stopped (SIGSTOP: a long GC, a frozen VM). It still believes it holds the lock");
        timeline.say("B", "asks for the lock and waits; A's lease of " + TTL_MILLIS + " ms runs out");
        String tokenB = acquire(b, 20_000);
        String read = expect(b, "read " + LOCK, "read ");
        scenes.add("B", "read", "lock", LOCK, "token", tokenB, "value", text(read));
        timeline.say("B", "reads " + text(read));
        expect(b, "write " + LOCK + " 39", "written ");
        scenes.add("B", "acknowledged", "lock", LOCK, "token", tokenB, "value", "39");
        believes(b, tokenB);
        timeline.say("B", "sold 1, writes 39");
        scenes.add("run", "fault-ended", "fault", "PAUSE_CLIENTS", "who", "A");
        a.resume();
        timeline.say("A", "is continued (SIGCONT) and sends its write of 38 with token " + tokens.of(tokenA));
        String answer = a.await(
                line -> line.startsWith("written ") || line.startsWith("refused ") || line.startsWith("unknown "));
        Matcher refused = REFUSED.matcher(answer);
        if (refused.matches()) {
            scenes.add(
                    "A",
                    "refused",
                    "lock",
                    LOCK,
                    "token",
                    tokenA,
                    "value",
                    "38",
                    "reason",
                    "TOKEN_STALE",
                    "mark",
                    refused.group(2));
        } else {
            // An unknown outcome is drawn as unknown.
            String event = answer.startsWith("written ") ? "acknowledged" : "unknown";
            scenes.add("A", event, "lock", LOCK, "token", tokenA, "value", "38", "answer", answer);
        }
        scenes.add("A", "lost", "lock", LOCK, "grant", tokenA, "reason", "EXPIRED");
        timeline.say(judge, decision(answer));
        String last = expect(b, "look " + LOCK, "read ");
        timeline.say(judge.equals("objects") ? judge : "service", "in stock: " + text(last));
        return new Outcome(tokenA, tokenB, answer, text(last));
    }

    private String decision(String answer) {
        Matcher refused = REFUSED.matcher(answer);
        return refused.matches()
                ? "refuses A's write: TOKEN_STALE, token " + tokens.of(refused.group(1)) + " presented, "
                        + tokens.of(refused.group(2)) + " is the mark, nothing applied"
                : "answers A: " + answer.replace("written ", "written, version ");
    }

    private String acquire(Child client, long waitMillis) {
        long asked = System.nanoTime();
        String answer = expect(client, "acquire " + LOCK + " " + TTL_MILLIS + " " + waitMillis, "granted ");
        String token = answer.substring("granted ".length());
        scenes.add(
                client.name(),
                "granted",
                "lock",
                LOCK,
                "mode",
                "EXCLUSIVE",
                "token",
                token,
                "grant",
                token,
                "asked",
                asked);
        believes(client, token);
        timeline.say(client.name(), "is granted " + LOCK + ", fencing token " + tokens.of(token));
        return token;
    }

    /** Notes until when the client would believe in its lease if it were stopped now. In the picture a token names its grant. */
    private void believes(Child client, String token) {
        String until = expect(client, "until", "until ").substring("until ".length());
        scenes.add(
                client.name(), "valid", "lock", LOCK, "token", token, "grant", token, "until", Long.parseLong(until));
    }

    private static String expect(Child client, String line, String start) {
        String answer = client.ask(line);
        if (!answer.startsWith(start)) {
            throw new ScenarioFailed(client.name() + " was told '" + line + "' and answered: " + answer);
        }
        return answer;
    }

    /** The object's text of a "read TOKEN TEXT" line. */
    private static String text(String read) {
        return read.split(" ", 3)[2];
    }
}
