package dev.palisade.contract.cli;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/** A suggestion for a mistyped word: swapped, missing and surplus letters. The parser's own suggestions find no swapped ones. */
public final class Suggestion {
    private static final int DISTANCE_MAX = 2;

    private Suggestion() {}

    /** The word of {@code words} with the fewest slips from {@code typed}, if there are two at most. */
    public static Optional<String> of(String typed, Collection<String> words) {
        return words.stream()
                .filter(word -> Math.abs(typed.length() - word.length()) <= DISTANCE_MAX)
                .filter(word -> distance(typed, word) <= Math.min(DISTANCE_MAX, word.length() / 2))
                .min(Comparator.comparingInt(word -> distance(typed, word)));
    }

    private static int distance(String one, String other) {
        int[][] slips = new int[one.length() + 1][other.length() + 1];
        for (int i = 0; i <= one.length(); i++) {
            for (int j = 0; j <= other.length(); j++) {
                if (i == 0 || j == 0) {
                    slips[i][j] = i + j;
                    continue;
                }
                int changed = one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1;
                slips[i][j] = Math.min(slips[i - 1][j - 1] + changed, 1 + Math.min(slips[i - 1][j], slips[i][j - 1]));
                if (i > 1 && j > 1 && swapped(one, i, other, j)) {
                    slips[i][j] = Math.min(slips[i][j], slips[i - 2][j - 2] + 1);
                }
            }
        }
        return slips[one.length()][other.length()];
    }

    private static boolean swapped(String one, int i, String other, int j) {
        return one.charAt(i - 1) == other.charAt(j - 2) && one.charAt(i - 2) == other.charAt(j - 1);
    }
}
