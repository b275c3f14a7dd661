package dev.palisade.demo;

import static dev.palisade.scenario.Observed.text;

import com.google.gson.JsonObject;
import dev.palisade.scenario.Customers;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Which writes of a sale a pause is placed before: one in each process, spread over three quarters of the sale, and one more when hardly a coupon
 * is left, at the latest before the last one. Decides by what the client has read and by who is next, never by time. Safe
 * for many threads.
 */
final class PausePlan {
    private final int coupons;
    private final int processes;
    private final Supplier<Optional<String>> next;
    private final Set<String> chosen = new HashSet<>();
    private boolean underway;
    private String last = "";

    /** @param next the process that is next in the queue: a stopped one would let each offer to it lapse */
    PausePlan(int coupons, int processes, Supplier<Optional<String>> next) {
        this.coupons = coupons;
        this.processes = processes;
        this.next = next;
    }

    /**
     * Whether the client that is {@code about} to write is to be stopped. While another one is, only before the last coupon:
     * somebody has to go on, or that one's pause would not end.
     */
    synchronized boolean choose(JsonObject about) {
        int issued = issued(about);
        boolean yes = last.isEmpty() && (issued == coupons - 1 || (!underway && isDue(about, issued)));
        if (yes) {
            underway = true;
            if (issued == coupons - 1 || chosen.size() == processes) {
                last = text(about, "op");
            }
            chosen.add(text(about, "client"));
        }
        return yes;
    }

    private boolean isDue(JsonObject about, int issued) {
        String process = text(about, "client");
        boolean due = chosen.size() < processes
                ? !chosen.contains(process) && issued >= chosen.size() * coupons * 3 / 4 / processes
                : issued >= coupons - processes;
        return due && next.get().filter(other -> !other.equals(process)).isPresent();
    }

    /** The client that was stopped has gone on; returns whether it was the last one. */
    synchronized boolean ended(JsonObject about) {
        underway = false;
        return last.equals(text(about, "op"));
    }

    /** How many coupons were issued by what the client has read. */
    static int issued(JsonObject about) {
        return Customers.listed(text(about, "content")).size() - 1;
    }
}
