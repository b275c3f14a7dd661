package dev.palisade.guard;

/**
 * The lowest mark of every lock of one token domain: what a resource without a mark of its own starts from. Raising it
 * lets every mark at or below it be dropped.
 *
 * @param issuer whose tokens these are
 * @param domain 0 to 255, see {@link dev.palisade.contract.LockName#domain()}
 * @param token every token up to this one is refused; 0 refuses none
 */
record BaseMark(String issuer, int domain, long token) {}
