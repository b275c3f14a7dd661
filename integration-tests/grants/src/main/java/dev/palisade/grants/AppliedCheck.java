package dev.palisade.grants;

import dev.palisade.contract.Mode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Properties P6 and P7 of the protocol, asked of what a storage itself says was applied to one resource, in order. */
public final class AppliedCheck {
    private AppliedCheck() {}

    /** One applied call. */
    public record Applied(boolean write, Mode mode, long token, String grant) {}

    /** The first row that breaks P6 or P7. */
    public static Optional<String> firstViolation(List<Applied> rows) {
        long highestWrite = 0;
        String highestWriteGrant = "";
        Map<String, Long> readTokenByGrant = new HashMap<>();
        for (int i = 0; i < rows.size(); i++) {
            Applied row = rows.get(i);
            if (!row.write()) {
                readTokenByGrant.merge(row.grant(), row.token(), Math::max);
                continue;
            }
            if (row.mode() != Mode.EXCLUSIVE) {
                return Optional.of("row " + i + ": a SHARED write " + row);
            }
            if (row.token() < highestWrite
                    || (row.token() == highestWrite && !row.grant().equals(highestWriteGrant))) {
                return Optional.of("row " + i + ": P6, " + row + " after a write with " + highestWrite);
            }
            for (Map.Entry<String, Long> read : readTokenByGrant.entrySet()) {
                if (!read.getKey().equals(row.grant()) && row.token() <= read.getValue()) {
                    return Optional.of("row " + i + ": P7, " + row + " after a read with " + read.getValue());
                }
            }
            highestWrite = row.token();
            highestWriteGrant = row.grant();
        }
        return Optional.empty();
    }
}
