package dev.palisade.docs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.palisade.contract.Reason;
import dev.palisade.contract.grpc.Rejections;
import dev.palisade.proto.v1.Call;
import dev.palisade.proto.v1.LocksGrpc;
import dev.palisade.proto.v1.Reply;
import dev.palisade.server.core.Command;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A command, or a reason, has one name: in the machine, on the wire and in the reference. */
class OneWordEverywhereTest {
    private static final Set<String> SENT_BY_TIME_OR_THE_SERVER = Set.of("expire", "abandon", "reclaim");
    /** Looks that no rule of the machine decides. */
    private static final Set<String> LOOKS =
            Set.of("list", "history", "sessions", "store", "explain", "reportrefusals");
    /** Whoever sends these need not hold or wait for anything, so they have no place on a holder's stream. */
    private static final Set<String> ASKED_BY_OTHERS =
            Set.of("requestrelease", "forcerelease", "checksequencer", "barrier");

    @Test
    void everyCommandOfTheMachineIsAPageEntry() {
        Set<String> all = commands();
        all.addAll(LOOKS);
        assertThat(entries()).isEqualTo(all);
    }

    @Test
    void everyCommandThatClientsSendIsAnRpcAndThoseOfHoldersAndWaitersAreCallsOnTheStream() {
        Set<String> sentByClients = new TreeSet<>(commands());
        sentByClients.removeAll(SENT_BY_TIME_OR_THE_SERVER);
        Set<String> sentOnStreams = new TreeSet<>(sentByClients);
        sentOnStreams.removeAll(ASKED_BY_OTHERS);
        sentOnStreams.add("resume_many"); // Several resumes in one call.

        assertThat(fields(Call.getDescriptor().getOneofs().get(0).getFields().stream()
                        .map(field -> field.getName())))
                .isEqualTo(sentOnStreams);
        assertThat(fields(Reply.getDescriptor().getOneofs().get(0).getFields().stream()
                        .map(field -> field.getName())
                        .filter(name -> !name.equals("rejected"))))
                .isEqualTo(sentOnStreams);
        Set<String> rpcs = LocksGrpc.getServiceDescriptor().getMethods().stream()
                .map(method -> String.valueOf(method.getBareMethodName()).toLowerCase(Locale.ROOT))
                .collect(Collectors.toCollection(TreeSet::new));
        rpcs.remove("session");
        Set<String> asked = new TreeSet<>(sentByClients);
        asked.addAll(LOOKS);
        assertThat(rpcs).isEqualTo(asked);
    }

    @Test
    void everyReasonIsAPageEntryInItsOrderWithItsCode() {
        String page = Docs.page("docs/reference/reasons.md");
        Pattern row = Pattern.compile("^\\| ([A-Z_]+) \\| [a-z, ]+ \\| ([A-Z_]+) \\|", Pattern.MULTILINE);
        assertThat(row.matcher(page).results().map(match -> match.group(1) + " " + match.group(2)))
                .containsExactlyElementsOf(Arrays.stream(Reason.values())
                        .map(reason -> reason + " " + Rejections.code(reason))
                        .toList());
    }

    /** {@code force-release} on the page is ForceRelease elsewhere. */
    private static Set<String> entries() {
        return Docs.all("docs/reference/commands.md", "^## ([a-z-]+)$").stream()
                .map(entry -> entry.replace("-", ""))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> commands() {
        return Arrays.stream(Command.class.getPermittedSubclasses())
                .map(command -> command.getSimpleName().toLowerCase(Locale.ROOT))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Set<String> fields(Stream<String> names) {
        return names.collect(Collectors.toCollection(TreeSet::new));
    }
}
