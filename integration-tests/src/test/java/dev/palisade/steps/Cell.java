package dev.palisade.steps;

import dev.palisade.client.Lease;
import dev.palisade.steps.Transaction.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One call at one step when a fault comes, and what became of it. */
final class Cell {
    /** Whether the call was at its step when the fault came. */
    enum Placed {
        HIT,
        /** The call has no such round trip: it is over. */
        NO_SUCH_STEP,
        /** Something else came in between; to be tried again. */
        MISSED
    }

    final Fault fault;
    final Step step;
    final String key;
    final Lease former;
    final String content;
    final HttpCall call;
    final @Nullable Hold hold;
    Placed placed = Placed.HIT;
    /** What was wrong, beside what the checkers find. */
    final List<String> complaints = Collections.synchronizedList(new ArrayList<>());

    boolean leaves;
    volatile boolean keptOut;
    volatile long newerToken;
    CompletableFuture<String> newer = new CompletableFuture<>();

    Cell(Fault fault, Step step, String key, Lease former, String content, HttpCall call, @Nullable Hold hold) {
        this.fault = fault;
        this.step = step;
        this.key = key;
        this.former = former;
        this.content = content;
        this.call = call;
        this.hold = hold;
    }

    /** Whether it stands where it should, right before the fault. */
    boolean stands() {
        if (hold == null) {
            return true;
        }
        Hold.Withheld withheld = hold.withheld().getNow(null);
        return withheld != null && withheld.isOpen().getAsBoolean() && fits(withheld.kind());
    }

    private boolean fits(Kind kind) {
        boolean ofCall = kind == Kind.ENTER || kind == Kind.LEAVE;
        return kind == Kind.BEGUN || ofCall == (step.phase() == Step.Phase.REGISTER);
    }

    /** Whether the database has committed, and the guard does not know. */
    boolean isCommitted() {
        Hold.Withheld withheld = hold == null ? null : hold.withheld().getNow(null);
        return withheld != null && withheld.text().equals("COMMIT") && step.side() == Side.REPLY;
    }

    /** The round trip at which it stands, without its number. */
    String what() {
        Hold.Withheld withheld = hold == null ? null : hold.withheld().getNow(null);
        return withheld == null
                ? step.phase().toString()
                : step.phase() + (leaves ? " leaves " : " ") + step.side() + " " + withheld.text();
    }

    /** What stood there. */
    String where() {
        Hold.Withheld withheld = hold == null ? null : hold.withheld().getNow(null);
        return step
                + (withheld == null
                        ? ""
                        : " (" + withheld.kind() + (leaves ? ", leaves: " : ": ") + withheld.text() + ")");
    }
}
