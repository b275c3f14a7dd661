/** Rights of principals: the policy, the users' tokens, and the files of both. Knows no transport. */
@NullMarked
package dev.palisade.server.access;

import org.jspecify.annotations.NullMarked;
