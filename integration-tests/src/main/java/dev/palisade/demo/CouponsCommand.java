package dev.palisade.demo;

import dev.palisade.contract.cli.Commands.CannotStart;
import dev.palisade.scenario.Customers.Told;
import dev.palisade.scenario.Installation;
import dev.palisade.scenario.ScenarioFailed;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code palisade demo coupons}. */
@Command(
        name = "coupons",
        description = {
            "Sells 100 coupons to 500 customers, each of whom takes the lock, reads how many are left and writes. "
                    + "Holders are stopped between read and write until another has bought. With the guard, 100 are issued.",
            "",
        },
        footer = {
            "",
            "Exit codes: 0 saw exactly that, 1 saw something else, 2 wrong usage, 3 could not run.",
        },
        sortOptions = false,
        usageHelpAutoWidth = true)
final class CouponsCommand implements Callable<Integer> {
    private static final int PROCESSES_MAX = 8;
    private static final int CUSTOMERS_MAX = 2_000;
    private static final int COUPONS_PER_PROCESS = 4;

    @SuppressWarnings("UnusedVariable")
    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this help and exit.")
    private boolean help;

    @Option(names = "--coupons", paramLabel = "N", defaultValue = "100", description = "How many (${DEFAULT-VALUE}).")
    private int coupons;

    @Option(
            names = "--clients",
            paramLabel = "N",
            defaultValue = "500",
            description = "Customers, at least two for each coupon, at most 2000 (${DEFAULT-VALUE}).")
    private int clients;

    @Option(
            names = "--processes",
            paramLabel = "N",
            defaultValue = "8",
            description = "Processes they are in, 2 to 8, at most one for four coupons (${DEFAULT-VALUE}).")
    private int processes;

    @Option(
            names = "--expect-exact",
            hidden = true,
            description = "With --unguarded: still expect as many as there are, and so fail. For the demo's own test.")
    private boolean expectExact;

    @ParentCommand
    private @Nullable DemoCommand demo;

    @Spec
    private @Nullable CommandSpec spec;

    @Override
    public Integer call() throws CannotStart {
        refuseMisuse();
        boolean unguarded = demo != null && demo.unguarded;
        Timeline timeline = new Timeline(System.out);
        try (Installation installation = demo == null ? Installation.fresh() : demo.installation()) {
            Sale sale = new CouponSale(timeline, coupons, clients, processes).run(installation, !unguarded);
            tell(sale);
            return verdict(sale, unguarded && !expectExact) ? 0 : 1;
        } catch (ScenarioFailed e) {
            throw new CannotStart(String.valueOf(e.getMessage()));
        }
    }

    private void refuseMisuse() {
        if (processes < 2 || processes > PROCESSES_MAX) {
            throw misuse("--processes is " + processes + "; use 2 to " + PROCESSES_MAX);
        }
        if (coupons < COUPONS_PER_PROCESS * processes) {
            throw misuse("--coupons is " + coupons + "; use at least " + COUPONS_PER_PROCESS * processes + " for "
                    + processes + " processes");
        }
        if (clients > CUSTOMERS_MAX || clients / 2 < coupons) {
            throw misuse("--clients is " + clients + "; use at least two for each of " + coupons
                    + " coupons, and at most " + CUSTOMERS_MAX);
        }
    }

    private ParameterException misuse(String message) {
        if (spec == null) {
            throw new IllegalStateException("not parsed yet");
        }
        return new ParameterException(spec.commandLine(), message);
    }

    private static void tell(Sale sale) {
        System.out.println();
        System.out.println("coupons   " + sale.coupons());
        System.out.println("issued    " + sale.holders() + ", by the storage's applied-log");
        System.out.println("listed    " + sale.listed().size() + ", by the list at the end");
        System.out.println("told      " + sale.told(Told.COUPON).size() + " have a coupon, "
                + sale.told(Told.SOLD_OUT).size() + " sold out, "
                + (sale.customers() - sale.told().size()) + " nothing");
        System.out.println("pauses    " + sale.lateWrites().size() + " placed between read and write, in "
                + sale.processesStopped() + " processes; " + sale.lateRefused() + " late writes refused");
        System.out.println("refused   " + sale.staleCalls() + " calls as TOKEN_STALE");
        System.out.println();
    }

    private boolean verdict(Sale sale, boolean expectOversold) {
        if (expectOversold) {
            System.out.println(
                    sale.oversold()
                            ? "Without a guard " + sale.holders() + " customers have one of " + coupons
                                    + " coupons, and the list does not show it. Now run: " + Installation.launcher()
                                    + " demo coupons"
                            : "UNEXPECTED: no more were issued than there are.");
            return sale.oversold();
        }
        sale.faults().forEach(fault -> System.out.println("FAILED: " + fault + "."));
        if (sale.faults().isEmpty()) {
            System.out.println("Exactly " + coupons
                    + " coupons were issued. Each late write was refused, and its customer asked"
                    + " again. To see it without the guard: " + Installation.launcher() + " demo coupons --unguarded");
        }
        return sale.faults().isEmpty();
    }
}
