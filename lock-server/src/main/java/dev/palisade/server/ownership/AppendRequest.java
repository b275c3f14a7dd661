package dev.palisade.server.ownership;

/**
 * One batch for a log, without its records.
 *
 * @param writer of the claim under which the batch is written
 * @param seq the batch's number, from 1
 * @param tokensBefore count of tokens that the stored one must equal
 * @param tokensAfter count of tokens with the batch's grants
 * @param yields whether the claim ends with this batch
 * @param switches whether the generation that is being written counts from this batch on
 */
public record AppendRequest(
        WriterId writer, long seq, long tokensBefore, long tokensAfter, boolean yields, boolean switches) {}
