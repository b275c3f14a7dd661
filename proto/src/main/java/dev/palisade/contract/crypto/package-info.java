/** Signing and verifying sequencers with a rotating HMAC keyset. */
@NullMarked
package dev.palisade.contract.crypto;

import org.jspecify.annotations.NullMarked;
