package dev.palisade.docs;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Words and turns of phrase that our pages do not use, from {@code words.txt}, each with a plain one. */
final class HouseWords {
    private static final List<Word> WORDS = Docs.resource("words.txt")
            .lines()
            .filter(line -> !line.isBlank() && !line.startsWith("#"))
            .map(Word::of)
            .collect(Collectors.toUnmodifiableList());

    private record Word(Pattern pattern, String instead) {
        static Word of(String line) {
            String[] parts = line.split(" => ", 2);
            return new Word(Pattern.compile(parts[0].strip(), Pattern.UNICODE_CASE), parts[1].strip());
        }

        Stream<String> in(String sentence) {
            Matcher found = pattern.matcher(sentence);
            return found.results().map(each -> "'" + each.group() + "', write: " + instead);
        }
    }

    private HouseWords() {}

    static List<String> in(String sentence) {
        return WORDS.stream().flatMap(word -> word.in(sentence)).toList();
    }
}
